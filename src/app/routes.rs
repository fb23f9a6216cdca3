//! The routes of the web app other than those that it shares with REST.

use actors::operations::account::ChangeProfile;
use actors::operations::activity::ListActivity;
use actors::operations::activity_days::CountActivity;
use actors::operations::apps::{DisconnectApp, ListApps};
use actors::operations::ask_threads::{
    AskFollowUp, DeleteThread, ListThreads, RetryQuestion, SaveAnswer, ShowAskState, ShowCitation,
    ShowThread, StartThread,
};
use actors::operations::bookmarks::{BulkChangeBookmarks, CountFacets, ListTrash, SupplyContent};
use actors::operations::collections::ShowCollectionTree;
use actors::operations::entries::{
    AddMute, ListMutes, ListStream, MarkAbove, RemoveMute, SaveEntry, UndoMark,
};
use actors::operations::exports::{BeginExport, ListExports, ShowExport};
use actors::operations::feeds::{ListFeedTree, RefreshFeeds, RenameFolder};
use actors::operations::find_text::FindText;
use actors::operations::highlights::{
    FindHighlight, ListAllHighlights, ListDocumentHighlights, MarkDocument, PlaceHighlight,
};
use actors::operations::home::ShowHome;
use actors::operations::import_rows::ListImportRows;
use actors::operations::imports::{
    ListImports, PauseImport, ResumeImport, ShowImport, StartImport, UndoImport,
};
use actors::operations::keys::{ChangeKey, CreateKey, ListKeys, RegenerateKey, RevokeKey, ShowKey};
use actors::operations::notes::{ChangeNote, DeleteNote, ShowNote};
use actors::operations::notices::{ListNotices, MarkAllNoticesRead, MarkNoticeRead};
use actors::operations::onboarding::{AddSampleProject, EndOnboarding, RemoveSampleProject, ShowOnboarding};
use actors::operations::operator::ai::{PauseAi, ResumeAi};
use actors::operations::operator::health::ShowHealth;
use actors::operations::operator::hosts::{ListFailingHosts, RetryHost};
use actors::operations::operator::storage::ShowStorage;
use actors::operations::operator::users::{ChangeUser, ListUsers};
use actors::operations::operator::work::{RetryJob, ShowQueue};
use actors::operations::pdf::{LocatePdfText, ReadPdfPage, ReadPdfPages};
use actors::operations::projects::{
    ChangeDecision, ChangeItem, ChangeProject, CreateDecision, CreateProject, DeleteDecision, DeleteProject,
    ListDecisions, ListItems, ListNotes, ListProjects, MeasureContext, RemoveItem, ShowDecision, ShowProject,
    WriteNote,
};
use actors::operations::reading::{ReadPage, SavePosition};
use actors::operations::recording::{LocateSpeech, ReadSpeech};
use actors::operations::saved_searches::{
    ChangeSavedSearch, CreateSavedSearch, DeleteSavedSearch, ListSavedSearches, PinSavedSearches,
};
use actors::operations::search_passages::SearchPassages;
use actors::operations::sessions::{EndOtherSessions, EndSession, ListSessions};
use actors::operations::settings::{ChangeSettings, ShowSettings};
use actors::operations::shell::ShowShellCounts;
use actors::operations::tag_changes::{DeleteTags, FindTags, MergeTags};
use actors::operations::undo::UndoChange;
use actors::operations::uploads::ListUploads;
use actors::operations::usage_by_credential::ReadUsageByCredential;
use actors::operations::work::{ListWork, RetryWork};

use super::assistants::{ListAssistants, TestConnection};
use super::handler::WebApp;
use crate::routing::Route;

/// The routes that only the web app has, below /app/api.
pub static ROUTES: &[Route] = &[
    Route::get::<WebApp, ListKeys>("/keys"),
    Route::post::<WebApp, CreateKey>("/keys").created(),
    Route::get::<WebApp, ShowKey>("/keys/{id}"),
    Route::patch::<WebApp, ChangeKey>("/keys/{id}"),
    Route::delete::<WebApp, RevokeKey>("/keys/{id}"),
    Route::post::<WebApp, RegenerateKey>("/keys/{id}/regenerate"),
    Route::get::<WebApp, ListApps>("/connected-apps"),
    Route::delete::<WebApp, DisconnectApp>("/connected-apps/{id}"),
    Route::get::<WebApp, ListAssistants>("/assistants"),
    Route::post::<WebApp, TestConnection>("/connection-test"),
    Route::get::<WebApp, ListNotices>("/notices"),
    Route::post::<WebApp, MarkAllNoticesRead>("/notices/read"),
    Route::post::<WebApp, MarkNoticeRead>("/notices/{id}/read"),
    Route::get::<WebApp, ListProjects>("/projects"),
    Route::post::<WebApp, CreateProject>("/projects").created(),
    Route::get::<WebApp, ShowProject>("/projects/{id}"),
    Route::patch::<WebApp, ChangeProject>("/projects/{id}"),
    Route::delete::<WebApp, DeleteProject>("/projects/{id}"),
    Route::get::<WebApp, ListDecisions>("/projects/{id}/decisions"),
    Route::post::<WebApp, CreateDecision>("/projects/{id}/decisions").created(),
    Route::get::<WebApp, ShowDecision>("/projects/{id}/decisions/{did}"),
    Route::patch::<WebApp, ChangeDecision>("/projects/{id}/decisions/{did}"),
    Route::delete::<WebApp, DeleteDecision>("/projects/{id}/decisions/{did}"),
    Route::get::<WebApp, ListItems>("/projects/{id}/items"),
    Route::patch::<WebApp, ChangeItem>("/projects/{id}/items/{iid}"),
    Route::delete::<WebApp, RemoveItem>("/projects/{id}/items/{iid}"),
    Route::get::<WebApp, ListNotes>("/projects/{id}/notes"),
    Route::post::<WebApp, WriteNote>("/projects/{id}/notes").created(),
    Route::get::<WebApp, MeasureContext>("/projects/{id}/context-size"),
    Route::get::<WebApp, ShowNote>("/notes/{nid}"),
    Route::patch::<WebApp, ChangeNote>("/notes/{nid}"),
    Route::delete::<WebApp, DeleteNote>("/notes/{nid}"),
    Route::get::<WebApp, ListAllHighlights>("/highlights"),
    Route::get::<WebApp, FindHighlight>("/highlights/{id}/candidates"),
    Route::post::<WebApp, PlaceHighlight>("/highlights/{id}/anchor"),
    Route::get::<WebApp, ReadPage>("/documents/{id}"),
    Route::get::<WebApp, ListDocumentHighlights>("/documents/{id}/highlights"),
    Route::post::<WebApp, MarkDocument>("/documents/{id}/highlights").created(),
    Route::post::<WebApp, SavePosition>("/documents/{id}/position"),
    Route::get::<WebApp, SearchPassages>("/search"),
    Route::get::<WebApp, ShowAskState>("/ask-state"),
    Route::get::<WebApp, ListThreads>("/threads"),
    Route::post::<WebApp, StartThread>("/threads").accepted(),
    Route::get::<WebApp, ShowThread>("/threads/{id}"),
    Route::delete::<WebApp, DeleteThread>("/threads/{id}"),
    Route::post::<WebApp, AskFollowUp>("/threads/{id}/questions").accepted(),
    Route::post::<WebApp, RetryQuestion>("/threads/{id}/questions/{qid}/retry").accepted(),
    Route::get::<WebApp, ShowCitation>("/threads/{id}/questions/{qid}/citations/{n}"),
    Route::post::<WebApp, SaveAnswer>("/threads/{id}/questions/{qid}/note").created(),
    Route::get::<WebApp, ShowHome>("/home"),
    Route::get::<WebApp, ShowOnboarding>("/onboarding"),
    Route::post::<WebApp, EndOnboarding>("/onboarding/end"),
    Route::post::<WebApp, AddSampleProject>("/onboarding/sample").created(),
    Route::delete::<WebApp, RemoveSampleProject>("/onboarding/sample"),
    Route::get::<WebApp, ListFeedTree>("/feeds/tree"),
    Route::post::<WebApp, RenameFolder>("/feeds/folder"),
    Route::post::<WebApp, RefreshFeeds>("/feeds/refresh").accepted(),
    Route::get::<WebApp, ListMutes>("/feeds/mutes"),
    Route::post::<WebApp, AddMute>("/feeds/mutes").created(),
    Route::delete::<WebApp, RemoveMute>("/feeds/mutes/{id}"),
    Route::get::<WebApp, ListStream>("/entries"),
    Route::post::<WebApp, MarkAbove>("/entries/mark"),
    Route::post::<WebApp, UndoMark>("/entries/marks/{id}/undo"),
    Route::post_if_absent::<WebApp, SaveEntry>("/entries/{id}/save"),
    Route::get::<WebApp, ListActivity>("/activity"),
    Route::get::<WebApp, CountActivity>("/activity/days"),
    Route::get::<WebApp, ReadUsageByCredential>("/usage"),
    Route::get::<WebApp, ListWork>("/work"),
    Route::post::<WebApp, RetryWork>("/work/{id}/retry").accepted(),
    Route::get::<WebApp, ShowImport>("/imports/{id}"),
    Route::get::<WebApp, ListImportRows>("/imports/{id}/rows"),
    Route::post::<WebApp, StartImport>("/imports/{id}/start"),
    Route::post::<WebApp, PauseImport>("/imports/{id}/pause"),
    Route::post::<WebApp, ResumeImport>("/imports/{id}/resume"),
    Route::post::<WebApp, UndoImport>("/imports/{id}/undo"),
    Route::get::<WebApp, ListUploads>("/uploads"),
    Route::get::<WebApp, ListExports>("/exports"),
    Route::post::<WebApp, BeginExport>("/exports").accepted(),
    Route::get::<WebApp, ShowExport>("/exports/{id}"),
    Route::get::<WebApp, CountFacets>("/facets"),
    Route::post::<WebApp, BulkChangeBookmarks>("/bulk"),
    Route::post::<WebApp, UndoChange>("/undo/{token}"),
    Route::get::<WebApp, ListTrash>("/trash"),
    Route::post::<WebApp, SupplyContent>("/bookmarks/{id}/content").accepted(),
    Route::get::<WebApp, ListSavedSearches>("/saved-searches"),
    Route::post::<WebApp, CreateSavedSearch>("/saved-searches").created(),
    Route::post::<WebApp, PinSavedSearches>("/saved-searches/pinned"),
    Route::patch::<WebApp, ChangeSavedSearch>("/saved-searches/{id}"),
    Route::delete::<WebApp, DeleteSavedSearch>("/saved-searches/{id}"),
    Route::get::<WebApp, FindTags>("/tags"),
    Route::post::<WebApp, MergeTags>("/tags/merge"),
    Route::post::<WebApp, DeleteTags>("/tags/delete"),
    Route::get::<WebApp, ShowCollectionTree>("/collection-tree"),
    Route::get::<WebApp, ReadPdfPages>("/documents/{id}/pages"),
    Route::get::<WebApp, ReadPdfPage>("/documents/{id}/pages/{number}"),
    Route::get::<WebApp, FindText>("/documents/{id}/find"),
    Route::get::<WebApp, LocatePdfText>("/documents/{id}/places"),
    Route::get::<WebApp, ReadSpeech>("/documents/{id}/speech"),
    Route::get::<WebApp, LocateSpeech>("/documents/{id}/speech/times"),
    Route::patch::<WebApp, ChangeProfile>("/profile"),
    Route::get::<WebApp, ListSessions>("/sessions"),
    Route::delete::<WebApp, EndOtherSessions>("/sessions"),
    Route::delete::<WebApp, EndSession>("/sessions/{id}"),
    Route::get::<WebApp, ShowSettings>("/settings"),
    Route::patch::<WebApp, ChangeSettings>("/settings"),
    Route::get::<WebApp, ShowShellCounts>("/counts"),
];

/// The routes of operators, below /app/api. For other users they do not exist.
pub static OPERATOR_ROUTES: &[Route] = &[
    Route::get::<WebApp, ShowHealth>("/operator/health"),
    Route::get::<WebApp, ShowStorage>("/operator/storage"),
    Route::get::<WebApp, ListUsers>("/operator/users"),
    Route::patch::<WebApp, ChangeUser>("/operator/users/{id}"),
    Route::get::<WebApp, ShowQueue>("/operator/work"),
    Route::post::<WebApp, RetryJob>("/operator/work/{id}/retry").accepted(),
    Route::get::<WebApp, ListFailingHosts>("/operator/hosts"),
    Route::post::<WebApp, RetryHost>("/operator/hosts/retry").accepted(),
    Route::post::<WebApp, PauseAi>("/operator/ai/pause"),
    Route::post::<WebApp, ResumeAi>("/operator/ai/resume"),
];

/// GET of the one path whose POST takes a form ([`super::imports`]).
pub static LIST_IMPORTS: Route = Route::get::<WebApp, ListImports>("/imports");
