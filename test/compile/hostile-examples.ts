/** How the agents of each example behave in the hostile world. */
import type { Command, Settled } from '../../src/ir/events.ts';
import type { Json } from '../../src/expr/json.ts';

type Said = string | readonly string[] | ((before: number, command: Command) => Settled);

export interface Hostile {
  readonly input?: Json;
  /** True if the bound only has to hold. */
  readonly loose?: boolean;
  /** True if nothing limits the calls: a model decides how many items there are. */
  readonly unbounded?: boolean;
  /** Changes the document, where the example as it is would run too long. */
  readonly edit?: (document: object) => object;
  /** The reply that ends a turn, by agent; `*` for all others. A list is repeated. */
  readonly says?: { readonly [agent: string]: Said };
  /** The tool that an agent calls in every round. */
  readonly uses?: { readonly [agent: string]: string };
  readonly rounds?: number;
  /** How many calls fail; unlimited unless given. */
  readonly failures?: number;
  /** The answer to every question; `approve` unless given. */
  readonly answer?: { readonly choice: string; readonly text?: string };
  readonly args?: (count: number) => Json;
  readonly check?: (command: Command, count: number) => Json;
  readonly tool?: (command: Command, count: number) => Settled;
}

const CUT_OFF: Settled = { ok: false, error: { class: 'semantic', type: 'TruncatedReplyError', message: 'cut off' } };
const query = (count: number): Json => ({ query: `q${count}` });
const file = (count: number): Json => ({ path: `f${count}.txt`, content: `${count}` });

const TWENTY = Array.from({ length: 20 }, (_, index) => `t${index}`);
/** A reply that does not fit its schema, and one that does when the agent is asked to repair it. */
const unfitFirst =
  (good: string): Said =>
  (_, { input }) =>
    replied(input['repair'] === undefined ? '?' : good);

export const HOSTILE: { readonly [example: string]: Hostile } = {
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
  },
  'dev-team.team.yaml': {
    says: { Planner: 'HANDOFF TO DEVELOPER', Developer: 'HANDOFF TO TESTER', Tester: 'BUGS FOUND' },
    uses: { Planner: 'write_file', Developer: 'write_file', Tester: 'write_file' },
    args: file,
  },
  'statemachine.team.yaml': {
    says: {
      Writer: ['?', '?', 'READY'],
      Editor: ['?', '?', 'PREPARE', '?', '?', 'REVISE', '?', '?', 'PREPARE', '?', '?', 'PUBLISH'],
    },
    uses: { Writer: 'write_file' },
    args: file,
  },
  'extract-validate-decide.workflow.yaml': { says: { validator: 'NEEDS_REVIEW' } },
  'refund.flow.yaml': { says: { triage_bot: ['?', '{"category": "tech"}'] } },
  'profile-coding.flow.yaml': { uses: { coder: 'read_file' }, args: file },
  'profile-procurement.flow.yaml': { uses: { buyer: 'unknown' } },
  'profile-research.flow.yaml': { uses: { researcher: 'unknown' } },
  'profile-sre.flow.yaml': { uses: { responder: 'unknown' } },
  'profile-support.flow.yaml': { uses: { clerk: 'unknown' } },
  'egress.flow.yaml': { uses: { reader: 'unknown' } },
  'marked-answer.flow.yaml': { uses: { buyer: 'unknown' } },
  // Its repairs and reflections are counted by expressions that the certificate does not know.
  'bound-answer.loop.yaml': { uses: { clerk: 'orders.get' }, loose: true },
  'stuck.flow.yaml': { uses: { librarian: 'unknown' } },
  'letters.flow.yaml': { says: { checker: ['?', '{"ok": false}'] } },
  'mapreduce.team.yaml': { unbounded: true },
  'magentic.team.yaml': { says: { manager: managed() } },
  'debate.staged.yaml': { says: { judge: () => CUT_OFF } },
  'claims.staged.yaml': {
    input: { claim: 'C-1' },
    says: {
      intake: JSON.stringify({ tasks: TWENTY.map((id) => ({ id, brief: 'Assess this aspect of the claim.' })) }),
      assessor: unfitFirst('{"finding": "none"}'),
      auditor: unfitFirst('{"ok": true, "confidence": 0.95}'),
    },
    answer: { choice: 'respond', text: 'Once more.' },
  },
  'market-report.staged.yaml': {
    says: {
      planner: '{"tasks": [{"id": "a", "brief": "Find A."}, {"id": "b", "brief": "Find B."}]}',
      critic: '{"ok": false, "confidence": 0.9, "problem": "no sources"}',
    },
    uses: { researcher: 'unknown' },
  },
  'saga.staged.yaml': { uses: { flights: 'unknown', hotels: 'unknown', cars: 'unknown' } },
  'research.loop.yaml': { uses: { scholar: 'library.search' }, args: query, failures: 3 },
  'memory.loop.yaml': {
    uses: { clerk: 'orders.find' },
    args: (count) => ({ customer: `c${count}` }),
    check: ({ name, input }): Json =>
      name === 'memory.read' ? { entries: [] } : { ok: true, value: input['value'] ?? null, claimed: [] },
  },
  'memory.flow.yaml': {
    uses: { clerk: 'orders.find' },
    args: (count) => ({ customer: `c${count}` }),
    check: ({ name, input }): Json =>
      name === 'memory.read' ? { entries: [] } : { ok: true, value: input['value'] ?? null, claimed: [] },
  },
  'incident.loop.yaml': {
    says: { responder: 'The cause is the cache.', reviewer: '{"ok": true, "confidence": 0.9}' },
    failures: 2,
    answer: { choice: 'revise', text: 'Look again.' },
  },
  'plan-and-do.loop.yaml': {
    says: { architect: ['?', '?', JSON.stringify({ steps: [{ id: 's1', do: 'Read', tool: 'files.read' }] })] },
    uses: { worker: 'files.read' },
    args: file,
    failures: 5,
  },
};

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
