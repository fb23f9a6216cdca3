//! Muted words: an entry whose title or summary contains them is marked as read when it arrives, so it is in no list of unread
//! entries. It stays in the feed.

use entity::feed_mute;
use sea_orm::{ConnectionTrait, DbErr, QueryOrder};
use values::id::{FeedId, UserId};

/// Rules of a user at most.
pub const MAX_MUTES: usize = 200;

/// The rules that apply to the entries of one feed.
#[derive(Debug, Default)]
pub struct MuteRules(Vec<MutedWords>);

/// Words in the form in which texts are compared.
#[derive(Debug)]
pub struct MutedWords(String);

impl MuteRules {
    /// Loads the rules of a user that apply to a feed.
    pub async fn load(db: &impl ConnectionTrait, user: UserId, feed: FeedId) -> Result<Self, DbErr> {
        let rows = list(db, user).await?;
        let applies = |row: &feed_mute::Model| row.feed_id.is_none_or(|of| of == feed);
        Ok(Self(rows.iter().filter(|row| applies(row)).map(|row| MutedWords::new(&row.words)).collect()))
    }

    /// Returns whether any rule mutes an entry with this title and summary.
    pub fn mute(&self, title: &str, summary: Option<&str>) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let texts = [Some(title), summary].map(|text| text.map(comparable));
        self.0.iter().any(|words| texts.iter().flatten().any(|text| words.occur_in(text)))
    }
}

impl MutedWords {
    /// Makes words comparable: case and the number of white space do not count.
    pub fn new(words: &str) -> Self {
        Self(comparable(words))
    }

    /// Returns whether an entry with this title and summary contains the words.
    pub fn mute(&self, title: &str, summary: Option<&str>) -> bool {
        [Some(title), summary].iter().flatten().any(|text| self.occur_in(&comparable(text)))
    }

    /// Returns whether the words occur as whole words. Words of scripts without spaces occur anywhere.
    fn occur_in(&self, text: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        text.match_indices(&self.0).any(|(at, found)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
            let (first, last) = (found.chars().next(), found.chars().next_back());
            !continues(before, first) && !continues(last, after)
        })
    }
}

/// Returns whether two neighbouring characters belong to the same word.
fn continues(left: Option<char>, right: Option<char>) -> bool {
    let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_written_without_spaces(c));
    in_word(left) && in_word(right)
}

/// Returns whether a character is of a script that puts no spaces between words: Thai, Lao, Khmer, Burmese, Kana, Han.
fn is_written_without_spaces(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x9FFF
        | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}

fn comparable(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the rules of a user in the order in which they were made.
pub async fn list(db: &impl ConnectionTrait, user: UserId) -> Result<Vec<feed_mute::Model>, DbErr> {
    feed_mute::Entity::owned_by(user).order_by_asc(feed_mute::Column::Id).all(db).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutes(words: &str, title: &str) -> bool {
        MutedWords::new(words).mute(title, None)
    }

    #[test]
    fn whole_words_are_found_in_any_case() {
        assert!(mutes("world cup", "The WORLD  Cup begins"));
        assert!(mutes("Köln", "KÖLN, am Morgen"));
        assert!(!mutes("cup", "A cupboard"));
        assert!(!mutes("cup", "The hiccup"));
        assert!(mutes("c++", "Why C++?"));
    }

    #[test]
    fn words_without_spaces_are_found_anywhere() {
        assert!(mutes("足球", "今天的足球比赛"));
        assert!(!mutes("足球", "今天的比赛"));
    }

    #[test]
    fn summary_is_searched_too_and_empty_words_mute_nothing() {
        assert!(MutedWords::new("eel").mute("Bread", Some("With smoked eel")));
        assert!(!MutedWords::new("  ").mute("Bread", Some("With smoked eel")));
    }
}
