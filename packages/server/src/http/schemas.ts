/** What the routes answer, as schemas: the OpenAPI document is made from them, and a test compares each answer with them. */
import { z } from '@hono/zod-openapi';
import { Json, orNull } from './routing.ts';

const NOTATIONS = ['flow', 'workflow', 'orchestration', 'staged', 'loop'] as const;
const NODE_STATES = ['idle', 'running', 'waiting', 'done', 'failed', 'skipped', 'undone'] as const;
const RUN_STATES = ['pending', 'running', 'suspended', 'completed', 'failed', 'cancelled'] as const;

const Millis = z.number().describe('Milliseconds since 1970.');
const Amounts = z.record(z.string(), z.number());

const Diagnostic = z
  .looseObject({
    severity: z.enum(['error', 'warning']),
    code: z.string(),
    message: z.string(),
    file: z.string(),
    line: z.number(),
    column: z.number(),
    endLine: z.number().optional(),
    endColumn: z.number().optional(),
    help: z.string().optional(),
  })
  .openapi('Diagnostic');

const Bound = z.object({ least: z.number().nullable(), most: z.number().nullable() }).openapi('Bound');
const Bounds = z.record(z.string(), Bound).openapi('Bounds');

export const FlowRow = z
  .object({
    id: z.string(),
    file: z.string().describe('Its place in the served folder.'),
    hash: z.string().nullable().describe('The version; null while the document has mistakes.'),
    notation: z.enum(NOTATIONS).nullable(),
    ok: z.boolean(),
    versions: z.array(z.string()).describe('Its versions since the server started, the latest last.'),
  })
  .openapi('Flow');
export const FlowDetails = FlowRow.extend({
  input: Json.describe('The JSON Schema of the input; null if the flow declares none.'),
  certificate: z
    .looseObject({ flow: Bounds, nodes: z.record(z.string(), Bounds) })
    .nullable()
    .describe('What a run takes at least and at most.'),
  diagnostics: z.array(Diagnostic),
}).openapi('FlowDetails');

const PlacedNode = z
  .looseObject({
    id: z.string(),
    kind: z.string(),
    label: z.string(),
    detail: z.string().nullable(),
    description: z.string().nullable(),
    x: z.number(),
    y: z.number(),
    w: z.number(),
    h: z.number(),
    frame: z.string().nullable(),
  })
  .openapi('PlacedNode');
const PlacedEdge = z
  .looseObject({
    from: z.string(),
    to: z.string(),
    kind: z.enum(['route', 'error', 'branch', 'join', 'over']),
    label: Json,
    back: z.boolean(),
    path: z.string().describe('The line, as path data of SVG.'),
    tip: z.string().describe('The head of the arrow, as path data of SVG.'),
  })
  .openapi('PlacedEdge');
export const Picture = z
  .looseObject({
    title: z.string(),
    notation: z.string(),
    description: z.string().nullable(),
    width: z.number(),
    height: z.number(),
    nodes: z.array(PlacedNode),
    edges: z.array(PlacedEdge),
  })
  .openapi('Picture');

export const Checked = z
  .looseObject({
    ok: z.boolean(),
    flow: z.string().nullable(),
    hash: z.string().nullable(),
    notation: z.enum(NOTATIONS).nullable(),
    diagnostics: z.array(Diagnostic),
    bounds: orNull(Bounds),
    certificate: Json,
    graph: Picture.optional().describe('Also of a text with mistakes, as far as it can be drawn.'),
  })
  .openapi('Checked');

export const RunRow = z
  .looseObject({
    run: z.string(),
    flow: z.string(),
    status: z.enum(RUN_STATES),
    code: z.string().nullable(),
    tenant: z.string().nullable(),
    user: z.string().nullable(),
    thread: z.string().nullable(),
    parent: z.string().nullable(),
    startedAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    due: z.iso.datetime().nullable(),
    events: z.number().nullable(),
    steps: z.number().optional(),
    inputTokens: z.number().optional(),
    outputTokens: z.number().optional(),
    costUsd: z.number().optional(),
    questions: z.number().optional().describe('The number of open questions.'),
    node: z.string().nullable().optional(),
    error: z.looseObject({ type: z.string() }).nullable().optional(),
  })
  .openapi('RunRow');

export const Report = z
  .looseObject({
    run: z.string(),
    flow: z.string(),
    hash: z.string(),
    state: z.enum(RUN_STATES),
    code: z.string().nullable(),
    output: Json,
    path: z.array(z.string()),
    approvals: z.record(z.string(), z.string()),
    usage: Amounts,
    waiting: z.array(z.looseObject({ id: z.string(), node: z.string(), choices: z.array(z.string()) })),
    receipts: z.array(z.looseObject({ seq: z.number(), tool: z.string(), effect: z.string(), status: z.string() })),
    changed: z.boolean(),
    error: z.looseObject({ class: z.string(), type: z.string(), message: z.string().nullable() }).nullable(),
  })
  .openapi('Report');

const Event = z
  .looseObject({
    id: z.string().describe('For `after` and `Last-Event-ID`.'),
    type: z.string(),
    seq: z.number().describe('The event of the journal.'),
    at: Millis,
    node: z.string().optional(),
    branch: z.string().optional(),
  })
  .openapi('Event');
export const EventPage = z.object({ items: z.array(Event), next: z.string().nullable() }).openapi('EventPage');

const Visit = z
  .object({
    number: z.number(),
    branch: z.string(),
    seq: z.number(),
    endSeq: z.number().nullable(),
    startedAt: Millis,
    endedAt: Millis.nullable(),
    state: z.enum(NODE_STATES),
    retries: z.number(),
    error: z.string().nullable(),
  })
  .openapi('Visit');
const NodeView = z
  .object({
    state: z.enum(NODE_STATES),
    visits: z.object({ count: z.number(), last: orNull(Visit), trouble: z.array(Visit) }),
  })
  .openapi('NodeView');
const Slots = z.record(z.string(), z.looseObject({ writtenBy: z.string().nullable(), seq: z.number() }));
export const RunAt = z
  .object({
    run: z.string(),
    seq: z.number(),
    last: z.number().describe('The last event of the run.'),
    at: Millis,
    state: z.enum(RUN_STATES),
    code: z.string().nullable(),
    nodes: z.record(z.string(), NodeView),
    edges: z.record(z.string(), z.number()).describe('How often each route was taken: `from>to#index`.'),
    bars: z.array(z.looseObject({ id: z.string(), kind: z.string(), node: z.string(), label: z.string() })),
    meters: z.object({ used: Amounts, held: Amounts, limit: Amounts }),
    questions: z.array(z.looseObject({ question: z.string(), node: z.string(), payload: z.string() })),
    slots: Slots,
    branches: z.record(z.string(), Slots),
  })
  .openapi('RunAt');

const Control = z.object({ control: z.string(), ok: z.boolean().nullable(), reason: z.string().optional() });
export const CallDetails = z
  .object({
    key: z.string(),
    kind: z.string(),
    name: z.string(),
    node: z.string(),
    branch: z.string(),
    seq: z.number(),
    at: Millis,
    accepted: z.boolean().nullable(),
    attempts: z.array(
      z.object({
        seq: z.number(),
        at: Millis,
        attempt: z.number(),
        ok: z.boolean(),
        used: Amounts,
        error: z.looseObject({ class: z.string(), type: z.string(), message: z.string().nullable() }).nullable(),
        result: Json,
      }),
    ),
    controls: z.array(Control).describe('The verdicts before the call was made.'),
    tools: z.array(z.string()).nullable().describe('Of a model call: the tools that were offered.'),
    prompt: z
      .array(z.looseObject({ role: z.string() }))
      .nullable()
      .describe('The messages as they were sent.'),
    args: Json,
    sources: z
      .array(z.object({ path: z.string(), from: z.string(), trusted: z.boolean() }))
      .nullable()
      .describe('Where each argument comes from.'),
    evidence: z
      .array(z.looseObject({ from: z.string(), trusted: z.boolean(), value: Json }))
      .nullable()
      .describe('What was observed before, for each argument.'),
  })
  .openapi('Call');

export const Differences = z
  .object({
    a: z.string(),
    b: z.string(),
    same: z.boolean(),
    differences: z.array(z.looseObject({ what: z.string() })),
  })
  .openapi('Differences');

export const Replayed = z
  .looseObject({ run: z.string(), agrees: z.boolean(), events: z.number(), difference: Json })
  .openapi('Replayed');

export const Audited = z
  .looseObject({
    run: z.string(),
    ok: z.boolean(),
    events: z.number(),
    head: z.string(),
    broken: z.looseObject({ seq: z.number(), message: z.string() }).nullable(),
    appends: z.array(z.looseObject({ after: z.number(), count: z.number(), hash: z.string() })),
  })
  .openapi('Audited');

export const Erased = z
  .object({ run: z.string(), erased: z.number(), attachments: z.number(), memory: z.number() })
  .openapi('Erased');

export const RunFile = z.looseObject({ format: z.string(), run: z.string() }).openapi('RunFile');

export const Question = z
  .looseObject({
    id: z.string(),
    run: z.string(),
    flow: z.string(),
    node: z.string(),
    message: z.string(),
    choices: z.array(z.string()),
    payload: z.string().describe('The hash of what is asked. An answer names it.'),
    packet: z.looseObject({ question: z.string(), effects: z.array(z.looseObject({ tool: z.string() })) }),
    approvers: z.looseObject({ people: z.array(z.string()), missing: z.number() }).nullable(),
    quorum: z.number(),
    agreed: z.array(z.looseObject({ by: z.string(), choice: z.string(), at: z.string() })),
    askedAt: z.iso.datetime(),
    expiresAt: z.string().nullable(),
    mayAnswer: z.boolean(),
  })
  .openapi('Question');

const Token = z
  .object({
    name: z.string(),
    access: z.array(z.string()),
    person: z.string().nullable(),
    tenant: z.string().nullable(),
    content: z.boolean(),
    createdAt: z.iso.datetime().nullable(),
    expiresAt: z.iso.datetime().nullable(),
    usedAt: z.iso.datetime().nullable(),
  })
  .openapi('Token');
export const TokenPage = z.object({ items: z.array(Token), next: z.null() }).openapi('TokenPage');
export const MadeToken = Token.extend({ token: z.string().describe('The secret, shown once.') }).openapi('MadeToken');

const Sum = { started: z.number(), well: z.number(), costUsd: z.number() };
export const Summary = z
  .object({
    since: z.iso.datetime(),
    ...Sum,
    ended: z.number(),
    codes: z.record(z.string(), z.number()),
    bars: z.array(z.object({ at: z.iso.datetime(), ...Sum })),
    p95Ms: z.number().nullable(),
    costPerSuccess: z.number().nullable(),
    questions: z.object({ open: z.number(), more: z.boolean(), oldestMs: z.number().nullable() }),
    breakers: z.array(
      z.object({
        breaker: z.string(),
        scripted: z.boolean(),
        state: z.string(),
        cause: z.string().nullable(),
        trips: z.number(),
        since: z.iso.datetime().nullable(),
        probeAt: z.iso.datetime().nullable(),
        by: z.string().nullable(),
      }),
    ),
    retryBudget: z.object({
      tokens: z.number(),
      burst: z.number(),
      share: z.number(),
      calls: z.number(),
      retries: z.number(),
      denied: z.number(),
    }),
  })
  .openapi('Summary');

export const Ok = z.object({ ok: z.literal(true) }).openapi('Ok');
export const Ready = z.object({ ready: z.boolean(), why: z.string().optional() }).openapi('Ready');
