/** Graphs to view and to test with: a shop of ten nodes in all states, and large random ones. */
import type {
  GraphMessage,
  GraphNode,
  LineageMessage,
  RefreshMode,
  RefreshState,
  SinkDelivery,
  SinkStanding,
  TaskRunRow,
  TaskStanding,
} from '../view/wire';

export const AS_OF = '2026-11-22T12:00:00+00:00';

/** An instant a number of seconds before `AS_OF`. */
export function ago(seconds: number): string {
  return new Date(Date.parse(AS_OF) - seconds * 1000).toISOString();
}

const NOTHING: Omit<GraphNode, 'name' | 'kind'> = {
  scheduling_state: null,
  declared_mode: null,
  refresh_mode: null,
  mode_reason: null,
  action: null,
  state: null,
  target_lag: null,
  lag_seconds: null,
  data_timestamp: null,
  rows: null,
  error: null,
  held_to: null,
  warehouse: null,
  parent: null,
  running: null,
  period: null,
  sink: null,
  task: null,
  files: null,
  held_back: null,
};

export function source(name: string, fields: Partial<GraphNode> = {}): GraphNode {
  return { ...NOTHING, name, kind: 'table', ...fields };
}

/** A dynamic table that succeeded incrementally 12 s ago, unless `fields` say otherwise. */
export function table(name: string, fields: Partial<GraphNode> = {}): GraphNode {
  const own: Partial<GraphNode> = {
    kind: 'dynamic_table',
    scheduling_state: 'ACTIVE',
    declared_mode: 'AUTO',
    refresh_mode: 'INCREMENTAL',
    mode_reason: 'CHEAPER',
    action: 'INCREMENTAL',
    state: 'SUCCEEDED',
    target_lag: 300,
    held_to: 300,
    lag_seconds: 12,
    data_timestamp: ago(12),
    rows: 1204,
    warehouse: 'main',
  };
  return { ...NOTHING, ...own, name, kind: 'dynamic_table', ...fields };
}

/** A task that took two rows 30 s ago, unless `standing` and `fields` say otherwise. */
export function task(
  name: string,
  standing: Partial<TaskStanding> = {},
  fields: Partial<GraphNode> = {},
): GraphNode {
  const stands: TaskStanding = {
    state: 'STARTED',
    runs_when: '5 minutes',
    condition: "SYSTEM$STREAM_HAS_DATA('new_orders')",
    next: ago(-270),
    last: taskRun(),
    failures: 0,
    ...standing,
  };
  return {
    ...NOTHING,
    name: `task ${name}`,
    kind: 'task',
    scheduling_state: stands.state === 'STARTED' ? 'ACTIVE' : 'SUSPENDED',
    state: stands.last?.state ?? null,
    warehouse: 'main',
    task: stands,
    ...fields,
  };
}

export function taskRun(fields: Partial<TaskRunRow> = {}): TaskRunRow {
  return {
    state: 'SUCCEEDED',
    trigger: 'SCHEDULE',
    scheduled: ago(30),
    start: ago(30),
    end: ago(29),
    attempt: 1,
    rows: 2,
    message: null,
    quiet: false,
    ...fields,
  };
}

/** A sink into PostgreSQL that has delivered all, unless `standing` and `fields` say otherwise. */
export function sink(
  name: string,
  from: string,
  standing: Partial<SinkStanding> = {},
  fields: Partial<GraphNode> = {},
): GraphNode {
  const last: SinkDelivery = {
    state: 'SUCCEEDED',
    trigger: 'SCHEDULED',
    start: ago(9),
    end: ago(8),
    action: 'INCREMENTAL',
    version: 7,
    loaded: 1200,
    stored: 1204,
    deleted: 3,
    bytes: 20_480,
    drifted: 0,
    retries: 0,
    error: null,
    refused: 0,
  };
  const stands: SinkStanding = {
    state: 'ACTIVE',
    source: from,
    scheme: 'postgresql',
    address: 'postgresql://db.example.org:5432/app',
    target: 'revenue',
    version: 7,
    newest: 7,
    behind_since: null,
    last,
    next_try: null,
    dead_letters: 0,
    ...standing,
  };
  return {
    ...NOTHING,
    name,
    kind: 'sink',
    scheduling_state: stands.state === 'SUSPENDED' ? 'SUSPENDED' : 'ACTIVE',
    target_lag: 300,
    held_to: 300,
    lag_seconds: 0,
    warehouse: 'main',
    sink: stands,
    ...fields,
  };
}

export function graph(
  nodes: readonly GraphNode[],
  edges: readonly (readonly [string, string])[],
): GraphMessage {
  return {
    type: 'graph',
    version: 1,
    nodes,
    edges: edges.map(([from, to]) => ({ source: from, target: to })),
    as_of: AS_OF,
  };
}

export const SHOP: GraphMessage = graph(
  [
    source('shop.orders', { rows: 1_284_311 }),
    source('shop.items', { rows: 48_210 }),
    source('shop.customers_eu', { kind: 'view' }),
    source('clicks_stream', { kind: 'stream', rows: 312 }),
    table('order_lines', {
      lag_seconds: 8,
      data_timestamp: ago(8),
      rows: 1_280_004,
      target_lag: 'DOWNSTREAM',
      held_to: 60,
    }),
    table('daily_revenue', { rows: 730 }),
    table('daily_revenue$stage_1', { kind: 'stage', parent: 'daily_revenue', rows: 14_021 }),
    table('customers_ranked', {
      refresh_mode: 'FULL',
      mode_reason: 'UNPARTITIONED_WINDOW',
      action: 'FULL',
      lag_seconds: 281,
      data_timestamp: ago(281),
      rows: 20_114,
    }),
    table('sessions', {
      state: 'EXECUTING',
      lag_seconds: 41,
      data_timestamp: ago(41),
      target_lag: 60,
      held_to: 60,
      rows: 88_100,
      running: { jobs: 3, jobs_done: 1, tasks: 40, tasks_done: 17, rows: 3100, rows_read: 0 },
    }),
    table('funnel', {
      state: 'FAILED',
      action: null,
      lag_seconds: 1260,
      data_timestamp: ago(1260),
      rows: 42,
      error: 'DT-2103: DIVIDE_BY_ZERO in `visits / orders`; add NULLIF',
    }),
    table('funnel_weekly', {
      state: 'UPSTREAM_FAILED',
      action: null,
      lag_seconds: 1260,
      data_timestamp: ago(1260),
      target_lag: 3600,
      held_to: 3600,
      rows: 6,
    }),
    table('retention', {
      state: 'SKIPPED',
      action: null,
      lag_seconds: 275,
      data_timestamp: ago(275),
      rows: 512,
    }),
    table('archive_2025', {
      scheduling_state: 'SUSPENDED',
      action: 'NO_DATA',
      target_lag: 86400,
      held_to: 86400,
      lag_seconds: 190_000,
      data_timestamp: ago(190_000),
      rows: 3_402_118,
    }),
    table('weekly_board', {
      state: null,
      action: null,
      lag_seconds: null,
      data_timestamp: null,
      rows: null,
    }),
    sink('warehouse.daily_revenue', 'daily_revenue'),
  ],
  [
    ['shop.orders', 'order_lines'],
    ['shop.items', 'order_lines'],
    ['order_lines', 'daily_revenue$stage_1'],
    ['daily_revenue$stage_1', 'daily_revenue'],
    ['order_lines', 'customers_ranked'],
    ['shop.customers_eu', 'customers_ranked'],
    ['clicks_stream', 'sessions'],
    ['sessions', 'funnel'],
    ['order_lines', 'funnel'],
    ['funnel', 'funnel_weekly'],
    ['sessions', 'retention'],
    ['shop.orders', 'archive_2025'],
    ['daily_revenue', 'weekly_board'],
    ['customers_ranked', 'weekly_board'],
    ['daily_revenue', 'warehouse.daily_revenue'],
  ],
);

export const SHOP_LINEAGE: LineageMessage = {
  type: 'lineage',
  version: 1,
  name: 'daily_revenue',
  columns: [
    { name: 'day', type: 'date' },
    { name: 'amount', type: 'decimal(38,2)' },
    { name: 'orders', type: 'bigint' },
  ],
  edges: [
    {
      source: 'shop.orders',
      source_column: 'placed_at',
      target: 'order_lines',
      target_column: 'day',
    },
    { source: 'order_lines', source_column: 'day', target: 'daily_revenue', target_column: 'day' },
    {
      source: 'shop.items',
      source_column: 'price',
      target: 'order_lines',
      target_column: 'amount',
    },
    {
      source: 'shop.orders',
      source_column: 'quantity',
      target: 'order_lines',
      target_column: 'amount',
    },
    {
      source: 'order_lines',
      source_column: 'amount',
      target: 'daily_revenue',
      target_column: 'amount',
    },
    {
      source: 'daily_revenue',
      source_column: 'amount',
      target: 'weekly_board',
      target_column: 'revenue',
    },
    {
      source: 'daily_revenue',
      source_column: 'amount',
      target: 'warehouse.daily_revenue',
      target_column: 'amount',
    },
    {
      source: 'order_lines',
      source_column: 'order_id',
      target: 'daily_revenue',
      target_column: 'orders',
    },
  ],
};

/** A repeatable sequence of numbers in [0, 1). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

/** `size` nodes in `depth` layers; each reads one to three, mostly of the layer before. */
export function random(size: number, depth: number, seed = 7): GraphMessage {
  const next = numbers(seed);
  const per = Math.ceil(size / depth);
  const name = (i: number): string =>
    `${i < per ? 'raw' : 'mart'}.table_${String(i).padStart(4, '0')}`;
  const states: readonly (RefreshState | null)[] = [
    ...Array<RefreshState>(16).fill('SUCCEEDED'),
    'EXECUTING',
    'FAILED',
    'SKIPPED',
    null,
  ];
  const modes: readonly RefreshMode[] = ['INCREMENTAL', 'INCREMENTAL', 'INCREMENTAL', 'FULL'];
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  const nodes = Array.from({ length: size }, (_, i) => {
    const lag = Math.floor(next() * 320);
    return i < per
      ? source(name(i), { rows: Math.floor(next() * 1e6) })
      : table(name(i), {
          state: pick(states),
          refresh_mode: pick(modes),
          lag_seconds: lag,
          data_timestamp: ago(lag),
          rows: Math.floor(next() * 1e5),
        });
  });
  const edges = new Map<string, readonly [string, string]>();
  for (let i = per; i < size; i++) {
    for (let k = 0; k < 1 + Math.floor(next() * 2.5); k++) {
      const back = next() < 0.93 ? 1 : 1 + Math.floor(next() * Math.floor(i / per));
      const place = Math.min(per - 1, Math.max(0, (i % per) + Math.floor((next() - 0.5) * 8)));
      const from = (Math.floor(i / per) - back) * per + place;
      edges.set(`${from} ${i}`, [name(from), name(i)]);
    }
  }
  return graph(nodes, [...edges.values()]);
}
