//! The real program: started, asked, told to end.

#[cfg(test)]
mod house;
#[cfg(test)]
mod serving;
#[cfg(test)]
mod settings;
