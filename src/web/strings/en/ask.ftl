ask-title = Ask your library
ask-lead = The answer comes only from what you saved. Every statement names the passage that it rests on, and the passage opens beside it.
ask-question = Your question
ask-send = Ask
ask-scope = Ask of
ask-scope-all = Whole library
ask-scope-picked = { $count ->
    [one] { $count } picked document
   *[other] { $count } picked documents
}
ask-scope-collection-gone = A collection that was deleted
ask-scope-project-gone = A project that was deleted
ask-budget = { $answers } of { $limit } answers this month
ask-recent = Recent questions
ask-recent-none = No questions yet. What you ask stays here, with its answer, until you delete it. The last 100 are kept.
ask-more = Older questions
ask-questions = { $count ->
    [one] { $count } question
   *[other] { $count } questions
}
ask-state-waiting = being answered
ask-state-failed = not answered
ask-paused = AI is paused.
ask-paused-text = Questions are answered again from { $time }. Search works meanwhile, by words.
ask-not-in-plan = Answers are not part of your plan.
ask-not-in-plan-text = Search and projects work as before.
ask-used-up = { $limit ->
    [one] The one answer of this month is used.
   *[other] All { $limit } answers of this month are used.
}
ask-used-up-text = New ones come on { $time }. Search and projects work meanwhile.
ask-quota = The AI budget of this month is used up.
ask-quota-text = Questions are answered again from { $time }. Search and projects work meanwhile.
ask-asked-of = Asked of
ask-menu = More: new question, delete
ask-new = Ask something new
ask-delete = Delete this question
ask-delete-sure = The question and its answer cannot be restored.
ask-delete-for-good = Delete for good
ask-deleted = The question and its answer are deleted.
ask-waiting = Reading the passages that fit best…
ask-failed = This question was not answered.
ask-failed-text = Something failed on the server. It did not count. Ask again.
ask-failed-paused = AI was paused.
ask-failed-paused-text = The question did not count. Ask again when the pause is over.
ask-failed-used-up = No answers were left.
ask-failed-used-up-text = The answers of the month were used up. Ask again next month.
ask-failed-quota = The AI budget was used up.
ask-failed-quota-text = The question did not count. Ask again next month.
ask-failed-model = The model did not answer.
ask-failed-model-text = The question did not count. Ask again in a minute.
ask-failed-gone = What was asked does not exist any more.
ask-failed-gone-text = The project, the collection or the documents were deleted. The question did not count.
ask-retry = Ask again
ask-nothing = Your library has nothing about this. The question counted as an answer, because everything was searched.
ask-closest = No sentence answers this directly; closest:
ask-text-waiting = its text is not here yet
ask-text-failed = its text could not be fetched
ask-text-empty = it has no text
ask-source = Source { $number }
ask-source-unverified = Source { $number }, not verified
ask-sources = Sources
ask-unverified = { $count ->
    [one] One of { $total } citations could not be verified.
   *[other] { $count } of { $total } citations could not be verified.
}
ask-unverified-text = { $count ->
    [one] The words of source { $numbers } were not found in the passage. Read it before you rely on it.
   *[other] The words of sources { $numbers } were not found in their passages. Read them before you rely on them.
}
ask-not-verified = not verified
ask-not-verified-note = not verified
ask-verified-text = Verified: the quote appears word for word in the source
ask-not-verified-text = Not verified: the answer refers to this passage, but its words were not found there
ask-source-changed = the text was replaced since
ask-source-moved = the text was replaced since; the quote is still there
ask-source-gone = deleted since
ask-no-text = This document has no text yet, so there is nothing to quote.
ask-save = Save as note
ask-save-project = Project
ask-save-pinned = Pin it, so that assistants get it
ask-save-submit = Save the note
ask-save-none = Notes belong to projects, and you have none yet.
ask-save-create = Create a project
ask-save-choose = Choose the project that gets the note.
ask-saved = Saved as the note “{ $title }”
ask-copy = Copy with sources
ask-passages = { $count ->
    [one] { $count } passage read
   *[other] { $count } passages read
}
ask-close = Close the source
ask-previous = Source before
ask-next = Next source
ask-open = Open it
ask-open-at = Open at { $place }
ask-follow-up = Ask a follow-up
ask-full = A thread has at most 20 questions.
