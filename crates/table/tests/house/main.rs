//! The embedded house from outside: damage to its files, restores to an instant, what concurrent
//! readers and writers see, the feed, and the space it takes.

#[cfg(test)]
mod damage;
#[cfg(test)]
mod feed;
#[cfg(test)]
mod history;
#[cfg(test)]
mod instants;
#[cfg(test)]
mod items;
#[cfg(test)]
mod past;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod space;
#[cfg(test)]
mod support;
#[cfg(test)]
mod transactions;
#[cfg(test)]
mod views;
