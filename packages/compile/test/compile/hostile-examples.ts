/** How the agents of each example behave in the hostile world. */
import type { Command, Question, Settled } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CoreWorld } from '../../../../test/support/harness.ts';

type Said = string | readonly string[] | ((before: number, command: Command) => Settled);

export interface Hostile {
  readonly input?: Json;
  /** The reply that ends a turn, by agent; `*` for all others. A list is repeated. */
  readonly says?: { readonly [agent: string]: Said };
  /** The tool that an agent calls in every round. */
  readonly uses?: { readonly [agent: string]: string };
  readonly rounds?: number;
  /** True if an agent whose replies have a schema calls its tool only when it is asked to repair a reply. */
  readonly isUnfit?: boolean;
  /** The calls of each such reply; one unless given. */
  readonly calls?: number;
  /** True if tools fail as often as their calls are repeated. */
  readonly isDown?: boolean;
  /** The run is cancelled during a call of this tool. */
  readonly cancelDuring?: string;
  /** The call that ends next; the first unless given. */
  readonly order?: (open: readonly Command[]) => Command;
  /** How many calls fail; unlimited unless given. */
  readonly failures?: number;
  /** The answer to every question; `approve` unless given. */
  readonly answer?: CoreWorld['answer'];
  readonly args?: (count: number) => Json;
  readonly check?: (command: Command, count: number) => Json;
  readonly tool?: (command: Command, count: number) => Settled;
}

const CUT_OFF = {
  ok: false,
  error: { class: 'semantic', type: 'TruncatedReplyError', message: 'cut off' },
} satisfies Settled;
const HALF: Settled = {
  ok: false,
  error: { ...CUT_OFF.error, partial: { text: 'On its', toolCalls: [], parts: [] } },
};
const CONFLICT = replied('{"status": "conflict", "reason": "two prices"}');
const QUESTION = '{"status": "missing_info", "question": "Which order?"}';
const QUESTIONS = Array.from({ length: 60 }, () => QUESTION);
export const DOWN = failedWith('transient', 'TransientError');
export const LATE = failedWith('timeout', 'TimeoutError');
const revised = ({ purpose }: Question): { choice: string; text?: string } =>
  purpose === 'budget' ? REJECT : { choice: 'revise', text: 'x' };
const REFUSED = '{"ok": false, "problem": "no"}';
/** A verdict that is read only after its repair, and finds a conflict. */
const disputed = (_: number, { input }: Command): Settled =>
  replied(input['repair'] === undefined ? '?' : '{"ok": true, "conflict": "two prices"}');
const UNSENT: Settled = {
  ok: false,
  error: { class: 'transient', type: 'BreakerError', message: 'the breaker is open', unsent: 'breaker' },
};
const NOT_FOUND = failedWith('fatal', 'NotFoundError');
const UNAUTHORISED = failedWith('fatal', 'AuthenticationError');
const REFUND = '{"category": "refund", "order": "o", "amount": 5}';
const PLAN = JSON.stringify({ steps: [{ id: 's1', do: 'Read', tool: 'files.read' }] });
const PLAN_TO_SAY = JSON.stringify({ steps: [{ id: 's1', do: 'Say' }] });
const PLAN_TO_WRITE = PLAN.replace('files.read', 'files.write');
const REJECT = { choice: 'reject' };
const query = (count: number): Json => ({ query: `q${count}` });
const customer = (count: number): Json => ({ customer: `c${count}` });
const file = (count: number): Json => ({ path: `f${count}.txt`, content: `${count}` });

const note = (count: number): Json => ({ path: `f${count}.txt`, text: `${count}` });
/** A person who approves everything but more budget. */
const noMore = ({ purpose }: Question): { choice: string } => (purpose === 'budget' ? REJECT : { choice: 'approve' });

const TWENTY = Array.from({ length: 20 }, (_, index) => `t${index}`);
/** A reply that does not fit its schema, and one that does when the agent is asked to repair it. */
const unfitFirst =
  (good: string): Said =>
  (_, { input }) =>
    replied(input['repair'] === undefined ? '?' : good);

/** The worlds of each example: at least one of them reaches each bound. */
export const HOSTILE: { readonly [example: string]: Hostile | readonly Hostile[] } = {
  'structured.team.yaml': {
    says: {
      Classifier: ['?', '?', '{"category": "billing"}'],
      Billing: ['?', '?', '{"reply": "x"}'],
      Sender: '?',
    },
  },
  'graph.team.yaml': {
    says: {
      Gatherer: 'DATA READY',
      Analyst: 'RESEARCH COMPLETE',
      Writer: 'FOR REVIEW',
      Reviewer: 'REVISION REQUIRED',
    },
  },
  'llm.team.yaml': { says: { selector: ['?', '?', 'Host'] } },
  'keyword.team.yaml': {
    says: { Planner: 'HANDOFF TO DEVELOPER', Developer: 'HANDOFF TO REVIEWER', Reviewer: 'REVISION REQUIRED' },
    uses: { Planner: 'unknown', Developer: 'write_file', Reviewer: 'write_file' },
    args: file,
    isDown: true,
    rounds: 20,
  },
  'dev-team.team.yaml': {
    says: { Planner: 'HANDOFF TO DEVELOPER', Developer: 'HANDOFF TO TESTER', Tester: 'BUGS FOUND' },
    uses: { Planner: 'write_file', Developer: 'write_file', Tester: 'write_file' },
    args: file,
    isDown: true,
    rounds: 20,
  },
  'statemachine.team.yaml': {
    says: {
      Writer: ['?', '?', 'READY'],
      Editor: ['?', '?', 'PREPARE', '?', '?', 'REVISE', '?', '?', 'PREPARE', '?', '?', 'PUBLISH'],
    },
    uses: { Writer: 'write_file' },
    args: file,
    isDown: true,
    rounds: 20,
  },
  'extract-validate-decide.workflow.yaml': { says: { validator: 'NEEDS_REVIEW' } },
  'approvals.flow.yaml': [
    { input: { order: 'o', amount: 50 }, answer: { choice: 'approve', by: 'carla' } },
    { input: { order: 'o', amount: 50 }, answer: { choice: 'approve', by: 'carla' }, cancelDuring: 'payments.refund' },
  ],
  'refund.flow.yaml': [
    { says: { triage_bot: ['?', REFUND] } },
    { says: { triage_bot: REFUND }, cancelDuring: 'payments.refund' },
  ],
  'long.flow.yaml': { input: { pages: 4 }, tool: () => LATE },
  'quotas.flow.yaml': { says: { clerk: (before) => (before === 0 ? HALF : replied('On its way.')) } },
  'damage.flow.yaml': { says: { assessor: ['?', '{"part": "door", "severity": "light"}'] } },
  'recover.flow.yaml': [
    {},
    { tool: ({ name }): Settled => (name === 'pages.get' ? UNAUTHORISED : { ok: true, value: {} }) },
  ],
  'unknown-outcome.flow.yaml': {
    tool: ({ name, attempt }) => (name === 'orders.place' ? (attempt < 3 ? DOWN : LATE) : NOT_FOUND),
  },
  'profile-coding.flow.yaml': [
    { uses: { coder: 'read_file' }, args: file },
    { uses: { coder: 'patch_file' }, args: file, calls: 5 },
    { uses: { coder: 'patch_file' }, args: file, calls: 5, isDown: true },
  ],
  'profile-procurement.flow.yaml': [
    { uses: { buyer: 'unknown' } },
    { uses: { buyer: 'vendors.compare' }, calls: 5 },
    { uses: { buyer: 'orders.draft' }, calls: 5 },
  ],
  'profile-research.flow.yaml': [
    { uses: { researcher: 'unknown' } },
    { uses: { researcher: 'archive.lookup' }, calls: 5 },
    { uses: { researcher: 'memory.write' }, calls: 5 },
  ],
  'profile-sre.flow.yaml': [
    { uses: { responder: 'unknown' } },
    { uses: { responder: 'metrics.read' }, calls: 5 },
    { uses: { responder: 'service.restart' }, calls: 5 },
  ],
  'profile-support.flow.yaml': [
    { uses: { clerk: 'unknown' } },
    { uses: { clerk: 'payments.refund' }, calls: 5, tool: () => ({ ok: true, value: { paid: true } }) },
  ],
  'egress.flow.yaml': [{ uses: { reader: 'unknown' } }, { uses: { reader: 'crm.get' }, calls: 5 }],
  'bound-answer.loop.yaml': [
    {
      says: { clerk: ['{"status": "conflict", "reason": "two prices"}', ...QUESTIONS] },
      answer: { choice: 'respond', text: 'Look again.' },
    },
    { uses: { clerk: 'orders.get' } },
    { says: { clerk: () => CONFLICT }, answer: { choice: 'respond', text: 'Look again.' } },
    { says: { clerk: 'A-1', verifier: disputed }, answer: { choice: 'revise', text: 'Look again.' } },
    { says: { clerk: 'A-1', verifier: REFUSED } },
  ],
  'stuck.flow.yaml': [{ uses: { librarian: 'unknown' } }, { uses: { librarian: 'shelf.search' }, calls: 2 }],
  'letters.flow.yaml': [
    {
      says: { checker: ['?', '{"ok": false}'] },
      order: (open) => [...open].sort((a, b) => (a.key < b.key ? 1 : -1))[0] as Command,
    },
    { says: { checker: '{"ok": false}' } },
    { says: { checker: unfitFirst('{"ok": false}') }, order: secondLetterFirst },
  ],
  'mapreduce.team.yaml': {
    says: { Splitter: ['?', '?', '?', JSON.stringify({ letters: TWENTY })] },
  },
  'magentic.team.yaml': { says: { manager: managed() } },
  'debate.staged.yaml': [
    { says: { judge: () => CUT_OFF } },
    { says: { judge: (before) => (before < 2 ? CUT_OFF : replied('Buy.')) } },
  ],
  'claims.staged.yaml': {
    input: { claim: 'C-1' },
    says: {
      intake: JSON.stringify({ tasks: TWENTY.map((id) => ({ id, brief: 'Assess this aspect of the claim.' })) }),
      assessor: unfitFirst('{"finding": "none"}'),
      auditor: unfitFirst('{"ok": true, "confidence": 0.95}'),
    },
    answer: { choice: 'respond', text: 'Once more.' },
  },
  'market-report.staged.yaml': [
    {
      says: {
        planner: '{"tasks": [{"id": "a", "brief": "Find A."}, {"id": "b", "brief": "Find B."}]}',
        critic: '{"ok": false, "confidence": 0.9, "problem": "no sources"}',
      },
      uses: { researcher: 'unknown' },
    },
    {
      says: { planner: '{"tasks": [{"id": "a", "brief": "Find A."}]}' },
      uses: { researcher: 'library.search' },
      args: query,
      calls: 5,
      failures: 0,
    },
    {
      says: {
        planner: JSON.stringify({ tasks: TWENTY.map((id) => ({ id, brief: 'Find it.' })) }),
        critic: '{"ok": false, "confidence": 0.9, "problem": "no sources"}',
      },
      failures: 0,
      answer: { choice: 'respond', text: 'Once more.' },
    },
    everyReplan(),
  ],
  'plan-critic.staged.yaml': [
    {
      says: {
        planner: JSON.stringify({ tasks: TWENTY.map((id) => ({ id, brief: 'Find it.' })) }),
        auditor: '{"ok": true}',
        analyst: 'The price is two million.',
      },
      failures: 0,
    },
    {
      says: {
        planner: JSON.stringify({ tasks: TWENTY.map((id) => ({ id, brief: 'Find it.' })) }),
        auditor: unfitFirst('{"ok": true}'),
      },
    },
  ],
  'saga.staged.yaml': [
    { uses: { flights: 'unknown', hotels: 'unknown', cars: 'unknown' } },
    { uses: { flights: 'flight.book' }, calls: 5, failures: 0 },
    { uses: { flights: 'flight.book', hotels: 'unknown', cars: 'unknown' }, calls: 5, isDown: true },
    { says: { cars: '{"booked": true}' } },
    { uses: { cars: 'unknown' }, isUnfit: true },
  ],
  'research.loop.yaml': [
    { uses: { scholar: 'library.search' }, args: query, failures: 3 },
    { uses: { scholar: 'library.search' }, args: query, calls: 5, failures: 0 },
    { says: { scholar: '{"status": "conflict", "reason": "two dates"}' } },
  ],
  'memory.flow.yaml': [
    {
      uses: { clerk: 'orders.find' },
      args: customer,
      rounds: 4,
      says: { clerk: 'The last order is A-1.' },
      check: remembering,
    },
    {
      uses: { clerk: 'orders.find' },
      args: customer,
      rounds: 3,
      says: { clerk: 'The last order is A-1.' },
      check: remembering,
    },
    {
      uses: { clerk: 'orders.find' },
      args: customer,
      rounds: 2,
      says: { clerk: 'The last order is A-1.' },
      check: remembering,
    },
    { uses: { clerk: 'orders.find' }, args: customer, check: remembering },
    { says: { clerk: 'The last order is A-1.' }, check: remembering },
  ],
  'memory.loop.yaml': [
    { uses: { clerk: 'orders.find' }, args: customer, check: remembering },
    {
      uses: { clerk: 'orders.find' },
      args: customer,
      check: remembering,
      failures: 0,
      rounds: 5,
      says: { clerk: 'A-1' },
    },
    { says: { clerk: () => CONFLICT }, check: remembering },
    { says: { clerk: 'The last order is A-1.' }, check: remembering, failures: 0 },
    { says: { clerk: 'A-1', verifier: REFUSED }, check: remembering, failures: 0 },
    { says: { clerk: '' }, check: remembering },
    { says: { clerk: 'A-1', verifier: disputed }, check: remembering },
  ],
  'incident.loop.yaml': [
    {
      says: { responder: 'The cause is the cache.', reviewer: '{"ok": true, "confidence": 0.9}' },
      failures: 2,
      answer: { choice: 'revise', text: 'Look again.' },
    },
    { uses: { responder: 'metrics.query' }, calls: 5, failures: 0 },
    { says: { responder: 'The cause is the cache.', reviewer: '{"ok": true, "confidence": 0.1}' }, failures: 0 },
    {
      says: { responder: 'The cause is the cache.', reviewer: disputed },
      failures: 2,
      answer: { choice: 'revise', text: 'x' },
    },
    {
      says: { responder: 'The cause is the cache.', reviewer: disputed },
      failures: 0,
      answer: { choice: 'revise', text: 'x' },
    },
  ],
  // A person who grants more budget moves the bound.
  'plan-and-do.loop.yaml': [
    { says: { architect: ['?', '?', PLAN] }, uses: { worker: 'files.read' }, args: file, failures: 5, answer: REJECT },
    { says: { architect: PLAN }, uses: { worker: 'files.read' }, args: file, calls: 5, failures: 0, answer: REJECT },
    { says: { architect: failedReflection, worker: () => CONFLICT }, failures: 0, answer: REJECT },
    { says: { architect: PLAN_TO_SAY, worker: 'done', verifier: REFUSED }, failures: 0, answer: REJECT },
    {
      says: { architect: PLAN_TO_SAY, worker: 'done', verifier: '{"ok": true, "conflict": "two notes"}' },
      failures: 5,
      answer: revised,
    },
    { says: { architect: PLAN_TO_WRITE }, uses: { worker: 'files.write' }, args: note, failures: 0, answer: noMore },
  ],
};

/**
 * Every stage uses all its replans, and a person asks for five more. In each round one worker replies, and the breaker refuses
 * the calls of all others, so that they cost nothing.
 */
function everyReplan(): Hostile {
  const tasks = JSON.stringify({ tasks: TWENTY.map((id) => ({ id, brief: `Find ${id}.` })) });
  const search = { id: 'c', name: 'library.search', args: { query: 'tea' } };
  const worker: Said = (before, { input }) => {
    if (!String(input['prompt']).startsWith('Find t0.')) return UNSENT;
    if (before === 0) return { ok: true, value: { text: '', toolCalls: [search], parts: [] } };
    return replied((answers += 1) <= 2 ? '' : 'Found.');
  };
  let answers = 0;
  return {
    says: {
      planner: (before) => replied(before < 2 ? '{}' : tasks),
      researcher: worker,
      critic: (before) =>
        replied(JSON.stringify({ ok: before > 1, confidence: before < 7 ? 0.1 : 0.9, problem: 'no' })),
      writer: (before) => replied('x'.repeat(before < 2 ? 5000 : 1)),
    },
    failures: 0,
    answer: { choice: 'respond', text: 'Once more.' },
  };
}

/** The planner plans, and fails once when it reflects. */
function failedReflection(before: number): Settled {
  return before === 1 ? DOWN : replied(before === 0 ? PLAN : 'Look at the second source.');
}

/** The first letter waits for its first repair until the second one is given up. */
function secondLetterFirst(open: readonly Command[]): Command {
  const early = open.find(({ key, attempt }) => /^0:0\.0:.*#[01]$/.test(key) && attempt === 1);
  return early ?? open.find(({ key }) => key.startsWith('0:0.1:')) ?? (open[0] as Command);
}

/** The manager names nobody twice before it names a speaker, and stalls in the last two rounds of its first plan. */
function managed(): Said {
  let [rounds, bad, planned] = [0, 0, false];
  return (_, { input }) => {
    const tool = String(input['tool']);
    if (tool === 'magentic_ledger_update') {
      rounds += 1;
      return json({ task_complete: false, stalling: rounds === 7 || rounds === 8 });
    }
    const isPlan = tool === 'magentic_orientation';
    // Two bad turns before a plan are followed by a good choice, or the manager would be stuck.
    if (isPlan && ++bad <= 2) return json({});
    if (!isPlan && planned && ++bad <= 2) return json({});
    bad = 0;
    planned = !isPlan;
    return json(isPlan ? { plan: ['go'] } : { speaker: 'Researcher', instruction: 'go' });
  };
}

function json(value: Json): Settled {
  return replied(JSON.stringify(value));
}

function replied(text: string): Settled {
  return { ok: true, value: { text, toolCalls: [], parts: [] } };
}

function failedWith(kind: 'transient' | 'timeout' | 'fatal', type: string): Settled {
  return { ok: false, error: { class: kind, type, message: type } };
}

function remembering({ name, input }: Command): Json {
  return name === 'memory.read' ? { entries: [] } : { ok: true, value: input['value'] ?? null, fits: true, cut: [] };
}
