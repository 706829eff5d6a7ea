// Written by labextension/wire.py from the messages in dt_jupyter/wire: do not edit.

export const WIRE_VERSION = 1;

/** What a kernel says first; its `version` must be the browser's. `lake` is None until an engine is open, and `starting` while one is being opened; `recent` are the lakes that the user opened last, where none is open. */
export interface HelloMessage {
  readonly type: 'hello';
  readonly version: number;
  readonly package_version: string;
  readonly lake: string | null;
  readonly scheduler: boolean;
  readonly starting: boolean;
  readonly recent: readonly string[];
}

export type Happened = 'started' | 'progress' | 'ended' | 'changed';

/** ISO 8601 in UTC. */
export type Instant = string;

export type NodeKind = 'table' | 'view' | 'dynamic_table' | 'stream' | 'sink' | 'task' | 'stage';

export type SchedulingState = 'ACTIVE' | 'SUSPENDED';

export type RefreshMode = 'AUTO' | 'FULL' | 'INCREMENTAL';

export type RefreshAction = 'NO_DATA' | 'INCREMENTAL' | 'FULL' | 'REINITIALIZE';

export type RefreshState = 'SCHEDULED' | 'EXECUTING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED' | 'UPSTREAM_FAILED' | 'SKIPPED';

/** Seconds, or DOWNSTREAM. */
export type TargetLag = number | 'DOWNSTREAM';

/** How far work is: Spark's jobs and tasks begun and done, rows written, and rows read from files. */
export interface Progress {
  readonly jobs: number;
  readonly jobs_done: number;
  readonly tasks: number;
  readonly tasks_done: number;
  readonly rows: number;
  readonly rows_read: number;
}

export type SinkState = 'ACTIVE' | 'RETRYING' | 'SUSPENDED' | 'PAUSED';

export type DeliveryState = 'SUCCEEDED' | 'RETRYING' | 'FAILED';

export type DeliveryTrigger = 'CREATION' | 'MANUAL' | 'SCHEDULED';

export type DeliveryAction = 'INITIAL' | 'INCREMENTAL';

/** One delivery, as SINK_HISTORY has it: rows loaded, stored, deleted and refused, bytes stored. `version` is the source's; a delivery that is tried again has no `end`. */
export interface SinkDelivery {
  readonly state: DeliveryState;
  readonly trigger: DeliveryTrigger;
  readonly start: Instant;
  readonly end: Instant | null;
  readonly action: DeliveryAction | null;
  readonly version: number | null;
  readonly loaded: number;
  readonly stored: number;
  readonly deleted: number;
  readonly bytes: number;
  readonly drifted: number;
  readonly retries: number;
  readonly error: string | null;
  readonly refused: number;
}

/** The state of a sink. `scheme` and `address` are the store's, without user, options and secrets; `target` is the table there. `version` of the source is delivered, `newest` is there. `behind_since` is when the oldest change was committed that the store does not have. `dead_letters` are rows that the store refused. */
export interface SinkStanding {
  readonly state: SinkState;
  readonly source: string;
  readonly scheme: string;
  readonly address: string;
  readonly target: string;
  readonly version: number | null;
  readonly newest: number | null;
  readonly behind_since: Instant | null;
  readonly last: SinkDelivery | null;
  readonly next_try: Instant | null;
  readonly dead_letters: number;
}

export type TaskState = 'STARTED' | 'SUSPENDED';

export type TaskRunState = 'SCHEDULED' | 'EXECUTING' | 'SUCCEEDED' | 'FAILED' | 'SKIPPED' | 'CANCELLED';

export type TaskTrigger = 'SCHEDULE' | 'EXECUTE TASK';

/** One run, as TASK_HISTORY has it; one that waits or was skipped has no `start`. `message` says why it failed, was skipped or waits; `quiet`: it was skipped as there was nothing to do. */
export interface TaskRunRow {
  readonly state: TaskRunState;
  readonly trigger: TaskTrigger;
  readonly scheduled: Instant;
  readonly start: Instant | null;
  readonly end: Instant | null;
  readonly attempt: number;
  readonly rows: number | null;
  readonly message: string | null;
  readonly quiet: boolean;
}

/** The state of a task. `runs_when` is its schedule, or what it comes after, in words; `next` is its next tick while it is started; `failures` are those in a row. */
export interface TaskStanding {
  readonly state: TaskState;
  readonly runs_when: string;
  readonly condition: string | null;
  readonly next: Instant | null;
  readonly last: TaskRunRow | null;
  readonly failures: number;
}

/** What a graph shows as a box. `declared_mode` is what was requested (AUTO), `refresh_mode` what it came to; `rows` is the size of the table, where it is known. `held_to` is the lag in seconds that it must keep, DOWNSTREAM resolved. `parent` is the dynamic table that a hidden stage belongs to; `running` is there while a refresh runs. A scheduler that runs refreshes it at the multiples of `period` seconds since 1970. A sink has `sink`, and a task `task`; the `state` of a task is that of its last run. `files` says which files a source consists of that is not a Delta table. `held_back` says why nothing refreshes it though nothing has failed. */
export interface GraphNode {
  readonly name: string;
  readonly kind: NodeKind;
  readonly scheduling_state: SchedulingState | null;
  readonly declared_mode: RefreshMode | null;
  readonly refresh_mode: RefreshMode | null;
  readonly mode_reason: string | null;
  readonly action: RefreshAction | null;
  readonly state: RefreshState | null;
  readonly target_lag: TargetLag | null;
  readonly lag_seconds: number | null;
  readonly data_timestamp: Instant | null;
  readonly rows: number | null;
  readonly error: string | null;
  readonly held_to: number | null;
  readonly warehouse: string | null;
  readonly parent: string | null;
  readonly running: Progress | null;
  readonly period: number | null;
  readonly sink: SinkStanding | null;
  readonly task: TaskStanding | null;
  readonly files: string | null;
  readonly held_back: string | null;
}

/** Something happened at `at`. `node` is the dynamic table, sink or task as it is now, with its progress while it runs; `seconds` is how long a refresh that ended took. */
export interface EventMessage {
  readonly type: 'event';
  readonly version: number;
  readonly happened: Happened;
  readonly at: Instant;
  readonly name: string | null;
  readonly node: GraphNode | null;
  readonly seconds: number | null;
}

export type AlertKind = 'FAILED' | 'LATE' | 'SUSPENDED' | 'STALE' | 'REFUSED';

export type RemedyKind = 'resume' | 'refresh' | 'raise_lag' | 'resume_warehouse' | 'start_scheduler' | 'show' | 'explain';

/** A button: what it says, and what it does with the table or warehouse `name`; `target_lag` in seconds, where it raises one. */
export interface RemedyRow {
  readonly kind: RemedyKind;
  readonly label: string;
  readonly name: string;
  readonly target_lag: number | null;
}

/** An alert that is active since `since`; `name` is that of its node. Its kind, name and `since` together distinguish one episode from the next. Of one that is late `behind_since` is where its lag counts from, `target` how large that may be, in seconds, and `cause` what keeps it; `remedies` are the buttons that help. */
export interface AlertRow {
  readonly kind: AlertKind;
  readonly of: string;
  readonly name: string;
  readonly since: Instant;
  readonly code: string | null;
  readonly message: string | null;
  readonly behind_since: Instant | null;
  readonly target: number | null;
  readonly cause: string | null;
  readonly remedies: readonly RemedyRow[];
}

/** All alerts that are active at `as_of`, oldest first, of what the role may MONITOR: sent when a page begins to listen, and whenever they change. */
export interface AlertsMessage {
  readonly type: 'alerts';
  readonly version: number;
  readonly alerts: readonly AlertRow[];
  readonly as_of: Instant;
}

/** `target` reads `source`; both are names of nodes. */
export interface GraphEdge {
  readonly source: string;
  readonly target: string;
}

/** The graph at `as_of`. A name twice, an edge from or to nowhere, or a cycle: ValueError. */
export interface GraphMessage {
  readonly type: 'graph';
  readonly version: number;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly as_of: Instant | null;
}

export interface Column {
  readonly name: string;
  readonly type: string;
}

/** `state` is one word for its mark; `about` a line for people; `columns` are those of a table, as far as they are known without Spark. */
export interface CatalogueItem {
  readonly name: string;
  readonly kind: string;
  readonly state: string;
  readonly about: string;
  readonly columns: readonly Column[];
}

/** What a lake holds: dynamic tables, streams, sinks, tasks, tables, warehouses, pins. */
export interface CatalogueMessage {
  readonly type: 'catalogue';
  readonly version: number;
  readonly items: readonly CatalogueItem[];
  readonly lake: string;
}

/** A source at the version that a dynamic table has read; `newest` is what it has now. */
export interface FrontierSource {
  readonly name: string;
  readonly kind: string;
  readonly version: number | null;
  readonly newest: number | null;
}

/** Of one dynamic table. `data_timestamps` are those that it can still be read at, newest first: the newest one that two tables share is their common time. */
export interface Frontier {
  readonly name: string;
  readonly data_timestamp: Instant | null;
  readonly version: number | null;
  readonly sources: readonly FrontierSource[];
  readonly data_timestamps: readonly Instant[];
}

export interface FrontiersMessage {
  readonly type: 'frontiers';
  readonly version: number;
  readonly frontiers: readonly Frontier[];
  readonly as_of: Instant | null;
}

/** A stream: `offset` is the time up to which its changes were consumed, `waiting` how many commits of its base tables are behind it; `consumers` are the tables it was consumed into. */
export interface StreamRow {
  readonly name: string;
  readonly source: string;
  readonly source_type: string;
  readonly mode: string;
  readonly offset: Instant | null;
  readonly waiting: number | null;
  readonly has_data: boolean | null;
  readonly stale: boolean;
  readonly stale_after: Instant | null;
  readonly reason: string | null;
  readonly consumers: readonly string[];
}

export interface StreamsMessage {
  readonly type: 'streams';
  readonly version: number;
  readonly streams: readonly StreamRow[];
  readonly as_of: Instant | null;
}

/** One refresh. A skip has neither start nor end; a success has an end and an action. */
export interface RefreshPoint {
  readonly data_timestamp: Instant;
  readonly state: RefreshState;
  readonly start: Instant | null;
  readonly end: Instant | null;
  readonly action: RefreshAction | null;
  readonly detail: string | null;
}

/** No scheduler ran in it. */
export interface IdleTime {
  readonly start: Instant;
  readonly end: Instant;
}

/** The refreshes of one dynamic table. `target_lag` in seconds, None for DOWNSTREAM; the lag is drawn up to `as_of`, else up to the last refresh's end. `idle` times are disjoint and in order: the lag rises in them, and no target is missed. */
export interface LagMessage {
  readonly type: 'lag';
  readonly version: number;
  readonly name: string;
  readonly target_lag: number | null;
  readonly points: readonly RefreshPoint[];
  readonly as_of: Instant | null;
  readonly idle: readonly IdleTime[];
}

export type Mark = 'same' | 'inserted' | 'deleted' | 'before' | 'after';

/** Rows of a result: cells are texts, None is NULL. `truncated`: there were more; `note` says what was read (its snapshot or skew). `marks`, of changes, say what happened to each row: BEFORE and AFTER, side by side, are the two sides of an update. */
export interface ResultMessage {
  readonly type: 'result';
  readonly version: number;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly (string | null)[])[];
  readonly truncated: boolean;
  readonly title: string | null;
  readonly note: string | null;
  readonly marks: readonly Mark[];
}

/** A dynamic table as created or described; `sample` holds its first rows, `notes` what the guards of the creation checked and what was altered on the sources; `held_back` is that of its node. */
export interface CardMessage {
  readonly type: 'card';
  readonly version: number;
  readonly name: string;
  readonly declared_mode: RefreshMode;
  readonly refresh_mode: RefreshMode;
  readonly mode_reason: string;
  readonly schema: readonly Column[];
  readonly target_lag: TargetLag;
  readonly warehouse: string;
  readonly upstream: readonly string[];
  readonly scheduling_state: SchedulingState;
  readonly data_timestamp: Instant | null;
  readonly sample: ResultMessage | null;
  readonly notes: readonly string[];
  readonly held_back: string | null;
}

/** A node of a definition: what it does, by which rule it is kept, with which state; estimated rows of it and of its change. `depth` counts from 0, nodes come in the order of reading. */
export interface TreeNode {
  readonly depth: number;
  readonly operator: string;
  readonly rule: string;
  readonly state: string;
  readonly rows: number | null;
  readonly changed: number | null;
}

/** One SQL statement of a refresh, and what it is for. */
export interface Statement {
  readonly title: string;
  readonly sql: string;
}

export interface Fact {
  readonly name: string;
  readonly value: string;
}

export type RefreshTrigger = 'SCHEDULED' | 'MANUAL' | 'CREATION';

/** One refresh, as DYNAMIC_TABLE_REFRESH_HISTORY has it; `duration` in seconds. */
export interface HistoryRow {
  readonly name: string;
  readonly state: RefreshState;
  readonly data_timestamp: Instant;
  readonly action: RefreshAction | null;
  readonly trigger: RefreshTrigger | null;
  readonly duration: number | null;
  readonly rows_inserted: number | null;
  readonly rows_deleted: number | null;
  readonly rows_read: number | null;
  readonly reason: string | null;
  readonly bytes_written: number | null;
}

/** Refreshes in the order in which they are shown; `title` is above them. */
export interface HistoryMessage {
  readonly type: 'history';
  readonly version: number;
  readonly rows: readonly HistoryRow[];
  readonly title: string;
}

/** A place in a query: line and column count from 1, in characters; never past the text. */
export interface Underline {
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

/** An error of the catalogue: `code`, one `sentence`, a `hint`; the `query` with the place; `details` (a JVM's stack trace) are one click away, as is the `page` of a code of ours, which is given by it. */
export interface ErrorMessage {
  readonly type: 'error';
  readonly version: number;
  readonly code: string;
  readonly sentence: string;
  readonly hint: string | null;
  readonly query: string | null;
  readonly underline: Underline | null;
  readonly details: string | null;
  readonly page: string | null;
}

/** Why a dynamic table is late, or held back, and what helps; `root` is the table in which the cause is, where that is a different one. */
export interface LateRow {
  readonly code: string;
  readonly sentence: string;
  readonly root: string | null;
  readonly remedies: readonly RemedyRow[];
}

/** A dynamic table over some days: `within` is the share of the time in which its lag was within the target, `lag` its lag now and `p95` the 95th percentile, in seconds (None: unknown). `refreshes` are those that changed rows, of which `recomputed` computed all of them; `seconds` and `bytes` are what they took and wrote. */
export interface HealthRow {
  readonly name: string;
  readonly schema: string;
  readonly target: TargetLag;
  readonly within: number | null;
  readonly lag: number | null;
  readonly p95: number | null;
  readonly refreshes: number;
  readonly recomputed: number;
  readonly failed: number;
  readonly seconds: number;
  readonly rows: number;
  readonly bytes: number;
  readonly days: number;
  readonly cause: string | null;
}

/** All about one dynamic table: its card, its tree, the statements of its next refresh, what was decided and why, the figures of its last refresh, and its newest refreshes; why it is late, and what it costs. */
export interface DetailMessage {
  readonly type: 'detail';
  readonly version: number;
  readonly name: string;
  readonly refresh_mode: RefreshMode;
  readonly mode_reason: string;
  readonly hint: string;
  readonly query: string;
  readonly card: CardMessage;
  readonly tree: readonly TreeNode[];
  readonly statements: readonly Statement[];
  readonly decision: string;
  readonly statistics: readonly Fact[];
  readonly history: HistoryMessage;
  readonly error: ErrorMessage | null;
  readonly late: LateRow | null;
  readonly cost: HealthRow | null;
}

/** A sink as created or described: its state, the statement that makes it, and its newest deliveries; `notes` say what its creation did. `error` is why it does not deliver. */
export interface SinkMessage {
  readonly type: 'sink';
  readonly version: number;
  readonly name: string;
  readonly node: GraphNode;
  readonly created: Instant;
  readonly key: readonly string[];
  readonly reductions: readonly string[];
  readonly delta_updates: boolean;
  readonly partitions: number;
  readonly definition: string;
  readonly deliveries: readonly SinkDelivery[];
  readonly comment: string | null;
  readonly notes: readonly string[];
  readonly error: ErrorMessage | null;
}

/** The state of a task: the statement that makes it, what it comes after, what it reads and writes as far as its text shows, and its newest runs. `error` is of its last run. */
export interface TaskMessage {
  readonly type: 'task';
  readonly version: number;
  readonly name: string;
  readonly node: GraphNode;
  readonly created: Instant;
  readonly definition: string;
  readonly after: readonly string[];
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly runs: readonly TaskRunRow[];
  readonly comment: string | null;
  readonly error: ErrorMessage | null;
}

/** A commit of a table; `operation` is what its writer calls it. */
export interface TableVersion {
  readonly version: number;
  readonly time: Instant;
  readonly operation: string;
}

/** The state of a table, view or stream: `rows`, `versions` (newest first) and `columns` as far as a log has them, `files` where it is files, `readers` are nodes that read it. `definition` is the text of a view, `stream` the offset of a stream. */
export interface SourceMessage {
  readonly type: 'source';
  readonly version: number;
  readonly name: string;
  readonly kind: string;
  readonly columns: readonly Column[];
  readonly rows: number | null;
  readonly files: string | null;
  readonly place: string | null;
  readonly versions: readonly TableVersion[];
  readonly readers: readonly string[];
  readonly definition: string;
  readonly stream: StreamRow | null;
  readonly as_of: Instant | null;
}

/** `target_column` of `target` is computed from `source_column` of `source`. */
export interface ColumnEdge {
  readonly source: string;
  readonly source_column: string;
  readonly target: string;
  readonly target_column: string;
}

/** Where the columns of `name` come from, and where they go, through all that is known. */
export interface LineageMessage {
  readonly type: 'lineage';
  readonly version: number;
  readonly name: string;
  readonly columns: readonly Column[];
  readonly edges: readonly ColumnEdge[];
}

/** A snapshot; `inserted` and `deleted` count what moved since the one before. */
export interface ReplayStep {
  readonly number: number;
  readonly time: Instant;
  readonly version: number | null;
  readonly operation: string;
  readonly row_count: number;
  readonly inserted: number | null;
  readonly deleted: number | null;
  readonly schema_change: string;
  readonly digest: string | null;
}

/** A walk over snapshots of `name`; `replay` is what requests for its rows are sent to. */
export interface ReplayMessage {
  readonly type: 'replay';
  readonly version: number;
  readonly name: string;
  readonly replay: string;
  readonly schema_mode: string;
  readonly steps: readonly ReplayStep[];
}

/** Rows of a step, or the difference of two: a mark for each row, BEFORE and AFTER are the two sides of an update. `truncated`: there are more than are shown. */
export interface RowsMessage {
  readonly type: 'rows';
  readonly version: number;
  readonly name: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly (string | null)[])[];
  readonly marks: readonly Mark[];
  readonly step: number;
  readonly since: number | null;
  readonly truncated: boolean;
}

/** The first rows of a table `at` a time, at most `limit`, each with its change since the point that was requested. `table_version` is None of a view; one that is not `dynamic` changes without being refreshed. `chart` are the columns that are drawn: across, and up. */
export interface TableRowsMessage {
  readonly type: 'tablerows';
  readonly version: number;
  readonly name: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly (string | null)[])[];
  readonly marks: readonly Mark[];
  readonly at: Instant;
  readonly table_version: number | null;
  readonly limit: number;
  readonly dynamic: boolean;
  readonly truncated: boolean;
  readonly chart: readonly string[];
}

/** The difference between two versions, definitions or tables: in lines the definition, the schema and the counts, and the first rows that were inserted and deleted. */
export interface CompareMessage {
  readonly type: 'compare';
  readonly version: number;
  readonly title: string;
  readonly lines: readonly string[];
  readonly rows: ResultMessage;
}

/** What a table holds at one `snapshot`, which is said in words: a row for each column of `columns`, and the first rows. */
export interface ProfileMessage {
  readonly type: 'profile';
  readonly version: number;
  readonly name: string;
  readonly snapshot: string;
  readonly row_count: number;
  readonly columns: ResultMessage;
  readonly sample: ResultMessage;
}

/** What the scheduler would do: a simulated sawtooth, its figures, and how many seconds of the warehouse's slots it takes per second. */
export interface SimulationMessage {
  readonly type: 'simulation';
  readonly version: number;
  readonly lag: LagMessage;
  readonly period: number;
  readonly refresh_seconds: number;
  readonly mean_lag: number;
  readonly maximum_lag: number;
  readonly within_target: number | null;
  readonly load: number;
}

/** The dynamic tables of a lake over the last `days`, those least within their target first. */
export interface HealthMessage {
  readonly type: 'health';
  readonly version: number;
  readonly days: number;
  readonly tables: readonly HealthRow[];
}

/** The last failure of `name`, `at` when it was: the error with the place in the query, the `expression` and the first `row` that failed, where they are known, and what to do. */
export interface FailureMessage {
  readonly type: 'failure';
  readonly version: number;
  readonly name: string;
  readonly at: Instant;
  readonly error: ErrorMessage;
  readonly expression: string | null;
  readonly row: string | null;
  readonly steps: readonly string[];
}

/** Of a text at [start, end), in characters; `severity` is error or warning. */
export interface Problem {
  readonly severity: string;
  readonly code: string;
  readonly sentence: string;
  readonly hint: string;
  readonly start: number;
  readonly end: number;
}

/** The problems of a text, in the order of their places. */
export interface LintMessage {
  readonly type: 'lint';
  readonly version: number;
  readonly problems: readonly Problem[];
}

/** A whole HTML document, to be saved under `file`. */
export interface PageMessage {
  readonly type: 'page';
  readonly version: number;
  readonly file: string;
  readonly html: string;
}

/** The definitions of the lake as an SQL script. */
export interface ScriptMessage {
  readonly type: 'script';
  readonly version: number;
  readonly sql: string;
}

/** An action was done, in a sentence. */
export interface DoneMessage {
  readonly type: 'done';
  readonly version: number;
  readonly sentence: string;
}

export type Ask = 'hello' | 'graph' | 'catalogue' | 'frontiers' | 'streams' | 'lag' | 'detail' | 'sink' | 'task' | 'source' | 'lineage' | 'export' | 'health' | 'definition' | 'failure' | 'lint' | 'page' | 'verify' | 'profile' | 'replay' | 'rows' | 'table_rows' | 'compare' | 'compare_definition' | 'simulate' | 'refresh' | 'refresh_full' | 'cancel' | 'stop' | 'suspend' | 'resume' | 'pin' | 'alter' | 'drop' | 'reset' | 'retry_dead_letters' | 'resume_warehouse' | 'start_scheduler';

/** `id` comes back in the reply. `name` is a table's, a sink's or a task's node's, of STOP the id of an activity; the other fields belong to the one kind that reads them: `since`, `until` and `schema_mode` to REPLAY (points as text or version), `since` and `limit` to TABLE_ROWS, `since` and `until` to COMPARE, `replay`, `step` and `against` to ROWS, `pin` and `version` to PIN, `target_lag` in seconds to ALTER (None: DOWNSTREAM), and to SIMULATE `target_lag`, `refresh_seconds` and `interval` (between arrivals) in seconds and `concurrency`; `text` is the cell of a LINT. */
export interface Request {
  readonly id: number;
  readonly ask: Ask;
  readonly name: string | null;
  readonly since: string | null;
  readonly until: string | null;
  readonly schema_mode: string | null;
  readonly replay: string | null;
  readonly step: number | null;
  readonly against: number | null;
  readonly pin: string | null;
  readonly version: number | null;
  readonly target_lag: number | null;
  readonly refresh_seconds: number | null;
  readonly interval: number | null;
  readonly concurrency: number | null;
  readonly text: string | null;
  readonly limit: number | null;
}

/** The answer to the request of that `id`; an ErrorMessage where it could not be done. */
export interface Reply {
  readonly id: number;
  readonly message: HelloMessage | EventMessage | AlertsMessage | GraphMessage | CatalogueMessage | FrontiersMessage | StreamsMessage | LagMessage | DetailMessage | SinkMessage | TaskMessage | SourceMessage | LineageMessage | ReplayMessage | RowsMessage | TableRowsMessage | CompareMessage | ProfileMessage | SimulationMessage | HistoryMessage | HealthMessage | FailureMessage | LintMessage | PageMessage | ResultMessage | CardMessage | ScriptMessage | DoneMessage | ErrorMessage;
}

export type LiveMessage = HelloMessage | EventMessage | AlertsMessage | GraphMessage | CatalogueMessage | FrontiersMessage | StreamsMessage | LagMessage | DetailMessage | SinkMessage | TaskMessage | SourceMessage | LineageMessage | ReplayMessage | RowsMessage | TableRowsMessage | CompareMessage | ProfileMessage | SimulationMessage | HistoryMessage | HealthMessage | FailureMessage | LintMessage | PageMessage | ResultMessage | CardMessage | ScriptMessage | DoneMessage | ErrorMessage;
