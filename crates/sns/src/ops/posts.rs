//! Posts.

use base::Timestamp;

use super::timeline::Shown;
use super::{Page, Part, Tries, is_lost};
use crate::Sns;
use crate::error::Error;
use crate::items::facts::{OfPost, Told};
use crate::items::post;
use crate::model::post::{Post, check_content};
use crate::model::timeline::{Entry, Place};
use crate::model::{PostId, UserId};

impl Sns {
    /// Says something. It stands on the author's own timeline at once, and on the others' when the
    /// fact has reached them.
    pub(crate) async fn create_post(&self, author: UserId, content: &str) -> Result<Post, Error> {
        check_content(content)?;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let counts = self.tables.get(self.layout.posts.get_count(author)).await?;
            let last = post::read_last(counts.as_ref());
            let created = self.clock.now().max(Timestamp::from_millis(last.millis() + 1));
            let (id, content) = (PostId(self.ids.ordered()), content.to_owned());
            let post = Post { id, author, content, likes: 0, created };
            let entry = Entry { place: post.place(), author };
            let mut writes = vec![self.layout.users.exists(author)];
            writes.extend(self.layout.posts.put_new(&post, last));
            writes.extend(self.layout.timelines.put_all(&[author], entry, created));
            match self.commit(writes, &[Told::PostCreated(OfPost::new(&post))]).await? {
                Ok(()) => {
                    // It is said, whoever can be told of it now.
                    if let Err(error) = self.tell_post(&[author], &post).await {
                        tracing::warn!(%error, "a post was not pushed to its author");
                    }
                    return Ok(post);
                }
                Err(lost) if is_lost(&lost, 0) => {
                    return Err(Error::NoSuchUser(author.to_string()));
                }
                Err(_) => {}
            }
        }
    }

    /// The post of that id.
    pub(crate) async fn get_post(&self, id: PostId) -> Result<Post, Error> {
        self.find_post(id).await?.ok_or_else(|| Error::NoSuchPost(id.to_string()))
    }

    /// The post of that id, if there is one.
    pub(crate) async fn find_post(&self, id: PostId) -> Result<Option<Post>, Error> {
        let item = self.tables.get(self.layout.posts.get(id)).await?;
        Ok(item.as_ref().and_then(post::read))
    }

    /// Posts in the order asked; those that are not there are left out.
    pub(crate) async fn list_posts(&self, ids: &[PostId]) -> Result<Vec<Post>, Error> {
        let gets = ids.iter().map(|id| self.layout.posts.get(*id)).collect();
        let items = self.get_all(gets).await?;
        let found: Vec<Post> = items.iter().filter_map(|(_, item)| post::read(item)).collect();
        let by_id = |id: &PostId| found.iter().find(|post| post.id == *id).cloned();
        Ok(ids.iter().filter_map(by_id).collect())
    }

    /// The post of that id, if `viewer` may see it.
    pub(crate) async fn get_post_for(&self, viewer: UserId, id: PostId) -> Result<Post, Error> {
        let post = self.get_post(id).await?;
        match self.is_apart(viewer, post.author).await? {
            true => Err(Error::NoSuchPost(id.to_string())),
            false => Ok(post),
        }
    }

    /// Posts with their authors, as `viewer` sees them: those whose author is gone, or apart from
    /// it, are left out.
    pub(crate) async fn show(&self, viewer: UserId, posts: Vec<Post>) -> Result<Vec<Shown>, Error> {
        let apart = self.list_apart(viewer, posts.iter().map(|post| post.author)).await?;
        let mut shown = Vec::with_capacity(posts.len());
        for post in posts.into_iter().filter(|post| !apart.contains(&post.author)) {
            let author = self.get_card(post.author).await?;
            shown.extend(author.map(|author| Shown { post, author }));
        }
        Ok(shown)
    }

    /// Removes a post of the author's own.
    pub(crate) async fn delete_post(&self, author: UserId, id: PostId) -> Result<(), Error> {
        let post = self.get_post(id).await?;
        if post.author != author {
            return Err(Error::NotYours);
        }
        if self.remove_post(&post).await? {
            return Ok(());
        }
        Err(Error::NoSuchPost(id.to_string()))
    }

    /// Removes a post; false if it is gone already.
    async fn remove_post(&self, post: &Post) -> Result<bool, Error> {
        let mut writes = self.layout.posts.delete(post).to_vec();
        writes.push(self.layout.timelines.delete(post.author, post.place()));
        Ok(self.commit(writes, &[Told::PostDeleted(OfPost::gone(post))]).await?.is_ok())
    }

    /// Posts of an author, newest first.
    pub(crate) async fn list_posts_of(
        &self,
        author: UserId,
        part: &Part,
    ) -> Result<Page<Post>, Error> {
        let after = part.after.as_deref().map(str::parse).transpose()?;
        let posts = self.query_posts(author, after, part.rows()).await?;
        Ok(part.cut(posts, |post| post.place().to_string()))
    }

    /// So many posts of an author behind a place, newest first.
    pub(crate) async fn query_posts(
        &self,
        author: UserId,
        after: Option<Place>,
        limit: u32,
    ) -> Result<Vec<Post>, Error> {
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut posts: Vec<Post> = Vec::new();
        // One more, because the post at the place itself may come first.
        let limit_one_more = limit.saturating_add(u32::from(after.is_some()));
        let mut query = self.layout.posts.query(author, after, limit_one_more);
        // The store's pages are bounded by bytes too, and long posts fill one early.
        loop {
            let page = self.tables.query(query.clone()).await?;
            let read = page.items.iter().filter_map(post::read);
            posts.extend(read.filter(|post| after.is_none_or(|after| post.place() < after)));
            match page.last_key.filter(|_| posts.len() < wanted) {
                Some(last) => query.start_after = Some(last),
                None => break,
            }
        }
        posts.truncate(wanted);
        Ok(posts)
    }

    /// Removes all posts of a user who is gone.
    pub(crate) async fn remove_posts_of(&self, author: UserId) -> Result<(), Error> {
        let mut tries = Tries::new();
        loop {
            let posts = self.query_posts(author, None, 100).await?;
            if posts.is_empty() {
                return self.forget(self.layout.posts.delete_count(author)).await;
            }
            let mut removed = false;
            for post in posts {
                removed |= self.remove_post(&post).await?;
            }
            if !removed {
                tries.again()?;
            }
        }
    }
}
