//! What makes somebody the host of a group: its id, and the secret with which the group was made, if
//! it has one. Ids are no secret, because everybody in a group reads them.

use edge::{is_same_secret, secret_digest};

use crate::error::Error;
use crate::limits::{HOST_SECRET_CHARACTERS_MAX, HOST_SECRET_CHARACTERS_MIN};
use crate::model::Group;

/// What is kept of the secret of a new group.
pub(crate) fn keep_secret(secret: Option<&str>) -> Result<Option<String>, Error> {
    check_secret(secret)?;
    Ok(secret.map(secret_digest))
}

/// Refuses a secret that no group can have, also where the group has none: the client is wrong about
/// what it sends.
pub(crate) fn check_secret(secret: Option<&str>) -> Result<(), Error> {
    let Some(secret) = secret else { return Ok(()) };
    let bounds = HOST_SECRET_CHARACTERS_MIN..=HOST_SECRET_CHARACTERS_MAX;
    let characters = secret.chars().count();
    if bounds.contains(&characters) {
        return Ok(());
    }
    let (least, most) = bounds.into_inner();
    let told = format!("hostSecret must be {least} to {most} characters, not {characters}");
    Err(Error::invalid(told))
}

/// Whether this is the host of a group. The time that it takes tells nothing about the secret.
pub(crate) fn is_host(group: &Group, host_id: &str, secret: Option<&str>) -> bool {
    let is_proven = match &group.host_secret {
        None => true,
        Some(kept) => {
            let presented = secret_digest(secret.unwrap_or_default());
            is_same_secret(presented.as_bytes(), kept.as_bytes())
        }
    };
    is_proven && group.host_id == host_id
}

#[cfg(test)]
mod tests {
    use super::keep_secret;

    #[test]
    fn only_a_digest_is_kept_of_a_secret_that_nobody_guesses() {
        let secret = "kept by the host";
        let kept = keep_secret(Some(secret)).unwrap().unwrap();
        assert!(kept.len() == 43 && !kept.contains(secret), "{kept}");
        assert_eq!(keep_secret(None).unwrap(), None);
        assert!(keep_secret(Some(&"組".repeat(256))).is_ok());
        for (secret, count) in [(String::new(), 0), ("a".repeat(15), 15), ("組".repeat(257), 257)]
        {
            let refused = keep_secret(Some(&secret)).unwrap_err();
            let bound = format!("hostSecret must be 16 to 256 characters, not {count}");
            assert_eq!((refused.error_type(), refused.to_string()), ("ValidationError", bound));
        }
    }
}
