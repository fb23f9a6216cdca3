//! Lists of addresses, one a line: `URL | Title` as OneTab writes them, or the address alone.

use super::row::{Page, Row};

/// Every line that is not empty.
pub fn read(text: &str) -> Vec<Row> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let rows = lines.map(|(line, number)| {
        let (url, title) = line.split_once(" | ").map_or((line, None), |(url, title)| (url, Some(title)));
        let page = Page { url: url.to_owned(), title: title.map(str::to_owned), ..Page::default() };
        Row { line: number, found: page.into() }
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::super::row::Found;
    use super::*;

    #[test]
    fn a_line_is_an_address_and_a_title() {
        let rows = read("https://a.example/1 | One | two\n\nhttps://a.example/2\n");

        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [1, 3]);
        let Found::Save(first) = &rows[0].found else { panic!() };
        assert_eq!(
            (&first.fields["url"], &first.fields["title"]),
            (&"https://a.example/1".into(), &"One | two".into())
        );
    }
}
