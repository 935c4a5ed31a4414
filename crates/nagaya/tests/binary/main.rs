//! The real program: started, asked, told to end. The harness is `testkit::program`.

#[cfg(test)]
mod backups;
#[cfg(test)]
mod carrier;
#[cfg(test)]
mod collect;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod control;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod crowded;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod door;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod instances;
#[cfg(test)]
mod looking;
#[cfg(test)]
mod losses;
#[cfg(test)]
mod malformed;
#[cfg(test)]
mod migrate;
#[cfg(test)]
mod own_tables;
#[cfg(test)]
mod past;
#[cfg(test)]
mod privacy;
#[cfg(test)]
mod readiness;
#[cfg(test)]
mod serving;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod strangers;
#[cfg(test)]
mod tour;
#[cfg(test)]
mod transfer;
#[cfg(test)]
mod unread;
#[cfg(test)]
mod upgrade;
