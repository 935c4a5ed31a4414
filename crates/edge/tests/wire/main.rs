//! The house's door, on real sockets: whatever comes, the answer is clear and the next one is
//! served.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod bare;
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod closing;
#[cfg(test)]
mod collector;
#[cfg(test)]
mod crowds;
#[cfg(test)]
mod descriptions;
#[cfg(test)]
mod events;
#[cfg(test)]
mod guarding;
#[cfg(test)]
mod heads;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod http2;
#[cfg(test)]
mod origins;
#[cfg(test)]
mod pace;
#[cfg(test)]
mod polls;
#[cfg(test)]
mod sockets;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod watching;
