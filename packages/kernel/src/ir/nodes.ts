/**
 * The graph that every notation lowers to: five ops and meters, as plain JSON. A compiled flow is hashed and frozen; a run pins
 * the hash. Nothing here names a notation, a strategy or a stage: their differences are data.
 */
import type { Amounts, Dimension } from './dimensions.ts';
import type { EndState, FailureClass, TerminalCode } from './codes.ts';
import type { EffectClass } from './effect-classes.ts';
import type { Decision, SharedProtections, Tier } from './protections.ts';
import type { PiiPolicy } from './pii.ts';
import type { Approvers, AskPurpose, NotifyHook, PeopleDef, ReviewQueueLimits } from './people.ts';
import type { View } from './view.ts';
import type { Json } from '../expr/json.ts';

export type NodeId = string;
export type MeterId = string;
/** CEL source text over the thread's slots, plus `it` (the observation) and `error` (the last failure) where they exist. */
export type Expr = string;

/**
 * One slot write. `reply` stores a model's text: as an object if the text is a JSON object, also inside one Markdown fence,
 * and as text otherwise. `object` also finds the one object in prose; `object_text` stores the text of that object.
 */
export interface Write {
  readonly slot: string;
  readonly path?: readonly string[];
  readonly mode: 'set' | 'append' | 'reply' | 'object' | 'object_text';
  /** In an object of expressions, a field that only names a slot is stored as a reference. */
  readonly value: Expr | { readonly [field: string]: Expr };
}
export interface Case {
  readonly when: Expr;
  readonly to: NodeId;
}
/** Evaluated field by field; a field that only names a slot is passed by reference, so a long history is never copied. */
export type Input = { readonly [field: string]: Expr };

interface EffectBase {
  readonly input: Input;
  /** The worst case in every dimension that is known before the call. */
  readonly reserve: Amounts;
}
export interface ModelEffect extends EffectBase {
  readonly kind: 'model';
  readonly agent: string;
  /** The alias of a model that is called instead of the agent's own. */
  readonly target?: string;
  /** Replies of the form that the prompt asks for. A rehearsal plays them; the engine does not read them. */
  readonly samples?: readonly Json[];
}
export interface ToolEffect extends EffectBase {
  readonly kind: 'tool';
  readonly tool: string;
}
/** Evidence from outside the core: files, exit codes, policy. */
export interface CheckEffect extends EffectBase {
  readonly kind: 'check';
  readonly check: string;
}
/** A question to a person. Its input has `message`; all other fields are the payload that the answer is bound to. */
export interface AskEffect extends EffectBase {
  readonly kind: 'ask';
  readonly about: string;
  readonly choices: readonly Choice[];
  /** The choice that counts if the question expires. */
  readonly onExpiry: string;
  /** The code that the run shows while it waits. */
  readonly code: TerminalCode;
  readonly askedBy: string;
  /** `flow_node` if absent. */
  readonly purpose?: AskPurpose;
  /** The people who may answer; absent if the flow declares none. */
  readonly approvers?: Approvers;
}
/** A pause. Its input has `for` (seconds), `until` (ISO 8601 text) or `signal`, which is observed as `{ data, by }`. */
export interface WaitEffect extends EffectBase {
  readonly kind: 'wait';
  readonly about: string;
}
export interface Choice {
  readonly name: string;
  /** JSON Schema of the data that may come with this choice. Without it, no data may. */
  readonly edit?: Json;
  /** This choice needs data, text, or one of the two. */
  readonly needs?: 'edit' | 'text' | 'either';
}
type Effect = ModelEffect | ToolEffect | CheckEffect | AskEffect | WaitEffect;
export type EffectKind = Effect['kind'];

export interface Retry {
  readonly max: number;
  /** Zero means at once; otherwise full jitter between 0 and min(capMs, baseMs * factor^attempt). */
  readonly baseMs: number;
  readonly capMs: number;
  /** Default: 2. */
  readonly factor?: number;
  readonly on: readonly FailureClass[];
  /** After the retries, one attempt with each of these targets: for a model call, aliases of other models. */
  readonly fallback?: { readonly targets: readonly string[]; readonly on: readonly FailureClass[] };
  /** Set if no document declares these retries: they stay within the retry budget. */
  readonly budgeted?: true;
  /** The alias of the model that is called while the circuit breaker of this call is open. */
  readonly whileOpen?: string;
  /** A condition over `error`. Without it, every failure of these classes is retried. */
  readonly when?: Expr;
}

/** The names of a node, for people. */
interface Label {
  /** Name in traces and pictures. */
  readonly name: string;
  /** The authored node that errors and questions refer to, if `name` names only a part of it. */
  readonly authored?: string;
  /** Present if arriving at this node enters an authored node; `path` of a report lists it. */
  readonly enters?: string;
  /** A slot that this node writes: `path` lists its value after `enters` and a slash. */
  readonly entersBy?: string;
  /** Present if arriving at this node is a recovery decision; `decisions` of a report lists it. */
  readonly decision?: Decision;
}

/**
 * Controls: the checks that a tool call passes before it is made. The core walks them in order. It knows the four kinds (`how`)
 * and no control by name.
 *
 * Expressions see the slots of the thread and `_walk`: `reason` (of the refusal), `verdict` (all that the check returned), `doubt`
 * (why a check wants a person to decide), `approved` (a person has let the call pass), `answer` (of a person), and `now`, the
 * recorded time as ISO text. Questions and inputs of checks do not see `now`.
 */
export interface Controls {
  readonly walk: readonly Control[];
  /** The slot, and the fields below it, that hold the arguments, if a control or a person may change them. */
  readonly args?: readonly [slot: string, ...path: string[]];
  /** The node after a refusal that the agent is told. The slot `_refusal` has `step`, `tag` and `reason`. */
  readonly refused?: NodeId;
  /** The node after a refusal that fails the call. Default: the routes of a failure of the call. */
  readonly stopped?: NodeId;
  /** Calls of one reply reserve in the order of the reply: a call waits until no call before it is being checked. */
  readonly inOrder?: true;
}

export type Control = ExprControl | CheckControl | AskControl | MeterControl;

interface ControlOf<How extends string, With> {
  /** Its name, in events. */
  readonly control: string;
  readonly how: How;
  readonly with: With;
  /** The consequence of a refusal. */
  readonly onRefuse: Consequence;
  /** Its verdict may change with time: it judges once more after a person has answered. */
  readonly volatile?: true;
}

/** The first case that holds refuses the call. A condition that cannot be evaluated refuses it too. */
export type ExprControl = ControlOf<
  'expr',
  Refusing & {
    readonly cases: readonly RefusingCase[];
    /** The cases read `_walk.repeats`, the earlier equal calls that no person was told about for this one. */
    readonly repeats?: true;
  }
>;
/** Evidence from outside the core. Consecutive checks are performed together, as one call. */
export type CheckControl = ControlOf<
  'check',
  Refusing & {
    readonly check: string;
    /** Beside `tool` and `args`. */
    readonly input: Input;
    /** Its no is a doubt: the next question of the walk is asked. */
    readonly asks?: true;
    /** The worst case of performing it. */
    readonly reserve?: Amounts;
    /** The number of times that one call waits for it. Default: 0. */
    readonly waits?: number;
  }
>;
/** A question to a person. It is asked if `when` holds or a check has a doubt, unless a person has let the call pass. */
export type AskControl = ControlOf<
  'ask',
  Refusing &
    Asking & {
      readonly when?: Expr;
      /** The number of times that a person may change the arguments of one call. */
      readonly edits: number;
    }
>;
/** Tests the meters of the call and takes nothing. A meter without room leads where it always leads. */
export type MeterControl = ControlOf<'meter', Refusing>;

export interface RefusalError {
  readonly type: string;
  readonly class: FailureClass;
  readonly code: TerminalCode;
}

/** The words of a refusal. */
interface Refusing {
  /** The step that observations name. Default: the name of the control. */
  readonly step?: string;
  /** Stands in brackets before the reason. */
  readonly tag: string;
  /** Default: the reason that the control gives. */
  readonly reason?: Expr;
  readonly error: RefusalError;
  /** The question, where the consequence is `ask`. */
  readonly question?: Asking;
  /** The first that holds replaces the consequence. */
  readonly instead?: readonly Instead[];
}

export interface Instead {
  readonly when: Expr;
  readonly onRefuse: Consequence;
  readonly question?: Asking;
  readonly error?: RefusalError;
}

export interface RefusingCase {
  readonly when: Expr;
  readonly reason: Expr;
  /** It refuses nothing: it is a doubt, and the next question of the walk is asked. */
  readonly asks?: true;
  readonly error?: RefusalError;
}

/** `pass`: the call passes. `edit`: the walk starts again with the arguments of the person. `tell`: the agent gets `told`. */
export type Way = 'pass' | 'edit' | 'tell';

/** A choice without a way refuses the call. */
export interface Asking {
  readonly ask: AskEffect;
  readonly timeoutMs: number | null;
  /** The slot that receives the answer. */
  readonly into?: string;
  readonly ways: { readonly [choice: string]: Way };
  readonly told?: { readonly step: string; readonly tag: string; readonly reason: Expr };
  /** The error if the person ends the turn. */
  readonly error?: RefusalError;
}

export interface Hears {
  readonly agent: string;
  readonly writes: readonly Write[];
}

interface NodeBase {
  readonly label: Label;
  /** Slot paths that the author's text reads here. A path that leads nowhere reads as null, with an event. */
  readonly expects?: readonly (readonly string[])[];
  /** Visit and repeat meters that this node charges, and the budget meters its effect draws on. */
  readonly charges?: readonly MeterId[];
  /** The node for a thread if a budget has no room, instead of the meter's `over`. The slot `tripped` has the reason. */
  readonly onBudget?: NodeId;
  /** The node for a thread that has used up its visits, instead of the meter's `over`. */
  readonly onVisits?: NodeId;
  /** The node for a thread whose agents are stuck, instead of the meter's `over`. */
  readonly onStuck?: NodeId;
  /** The node for a thread that spends too fast, instead of the meter's `over`. */
  readonly onVelocity?: NodeId;
  /** Amounts that must be free before this node starts. */
  readonly needs?: Amounts;
  /** Where this agent hears what people say to it: the writes see the remark as `it`, with `by` and `text`. */
  readonly hears?: Hears;
}
export interface LetNode extends NodeBase {
  readonly op: 'let';
  readonly writes: readonly Write[];
  readonly next: NodeId;
  /** The node for a thread whose expression cannot be evaluated, instead of the flow's `fail`. */
  readonly fail?: NodeId;
  /** Work that is repeated after this node is undone first: nodes with these names, or below one (`sop` has `sop/pay`). */
  readonly undoes?: 'all' | readonly string[];
  /** The verifier of the answer gave no verdict. The cheapest good run does not pass here. */
  readonly unjudged?: true;
}
export interface PickNode extends NodeBase {
  readonly op: 'pick';
  readonly cases: readonly Case[];
  readonly otherwise: NodeId;
  /** True if the author wrote a default. `route.picked` then has the index after the cases, and not -1. */
  readonly hasDefault?: true;
}
export interface Compensation {
  readonly tool: string;
  readonly input?: Input;
  readonly timeoutMs: number;
  readonly costMicros?: number;
  /** As `recalls` of a node. */
  readonly recalls?: number;
  /**
   * How it is found out if a call happened that an earlier process may have sent, before it is undone: a tool looks it up, or the
   * call is made again under its own key. Otherwise, or if that fails, a person decides.
   */
  readonly unclear?:
    | { readonly lookup: { readonly tool: string; readonly input: Input; readonly timeoutMs: number | null } }
    | { readonly again: true };
  readonly approvers?: Approvers;
}
export interface DoNode extends NodeBase {
  readonly op: 'do';
  readonly effect: Effect;
  /** The checks that the call passes before it is made. Only of a tool call. */
  readonly controls?: Controls;
  /**
   * The compensation of this effect. Its arguments are fixed before the effect is requested. Without `input` they are the
   * arguments of the effect itself.
   */
  readonly undo?: Compensation;
  /** How often the call is made again after crashes. Default: `RECALLS_MAX`. 0: its outcome is then unknown. */
  readonly recalls?: number;
  /** The arguments must satisfy this schema before the call is requested. */
  readonly takes?: Json;
  /** The observation must satisfy the schema and the guard before it is written. */
  readonly schema?: Json;
  /** The schema does not apply if this holds of the observation. */
  readonly unless?: Expr;
  /**
   * Of a model call whose reply is read as an object or must satisfy `schema`: how often a reply that does not fit, or that has
   * different objects, is sent back with the reason before it is a failure. With `lenient` it is accepted instead of failing.
   */
  readonly fit?: {
    readonly repairs: number;
    readonly lenient?: true;
    /** Only a reply that is one object as a whole is read as data. Any other is a text. */
    readonly whole?: true;
    /** Fields of the reply that decide a route or enter an argument, and the place of the reply. It must then be an object. */
    readonly reads?: { readonly of: readonly string[]; readonly fields: readonly string[] };
  };
  readonly accept?: Expr;
  /** Amounts that an accepted answer adds to limits, by meter. Only numbers above zero count. */
  readonly grant?: { readonly [meter: MeterId]: Expr };
  readonly writes: readonly Write[];
  readonly timeoutMs: number | null;
  readonly retry: Retry;
  /** Rules for this call that differ from the flow's. */
  readonly shared?: SharedProtections;
  readonly next: NodeId;
  readonly failed: readonly Case[];
  /** The node after a failure that no case takes. */
  readonly fail: NodeId;
}
export type GatherMode = 'first' | 'last' | 'any' | 'merge' | 'concat';
export interface Head {
  readonly name: string;
  readonly to: NodeId;
  readonly when?: Expr;
}
/** Branches that use the same resource run one after another, in order, unless both only read it. */
export interface Claim {
  readonly resource: string;
  readonly shared: boolean;
}
export interface ForkNode extends NodeBase {
  readonly op: 'fork';
  readonly over:
    | { readonly heads: readonly Head[] }
    | {
        readonly each: Expr;
        readonly as: string;
        readonly head: NodeId;
        /** The resource of a branch: the value of `key`, an expression over the item. */
        readonly claims?: { readonly key: Expr; readonly of: { readonly [key: string]: Claim } };
      };
  /** The number of branches that run at once; 0 means all of them. */
  readonly widthMax: number;
  readonly need: 'all' | number;
  /** If true, the join fails as soon as it cannot be met any more, and the other branches are dropped. */
  readonly eager: boolean;
  readonly timeoutMs: number | null;
  /** The time in which the branches only wait for people does not count towards `timeoutMs`. */
  readonly exceptPeople?: true;
  /** Slot that receives the outcomes in branch order. */
  readonly into: string;
  /** Slots that branches return: that of the first or last branch, true if one is true, merged objects, or joined lists. */
  readonly gather: readonly { readonly slot: string; readonly mode: GatherMode }[];
  readonly next: NodeId;
  readonly failed: readonly Case[];
  readonly fail: NodeId;
}
export interface EndNode extends NodeBase {
  readonly op: 'end';
  readonly state: EndState;
  /** `error`: the code that the last failure maps to. */
  readonly code: TerminalCode | 'error';
  readonly output: Expr;
}
export type Node = LetNode | PickNode | DoNode | ForkNode | EndNode;

/** A limit. `over` is the next node of a thread for which the meter has no room. */
export interface Meter {
  readonly unit: 'visits' | 'repeats' | 'turns' | 'rate' | 'time' | Dimension;
  /** Of `time`, milliseconds. */
  readonly max: number | null;
  /** Of the run's `time`: the run stops when it is used up. If false, calls are cut off, and the next node that charges it trips. */
  readonly halts?: boolean;
  /** Of `rate`: the time in which `max` calls start; others wait. Of a budget dimension: only amounts of this latest time count. */
  readonly perMs?: number;
  /** Of `repeats`: `max` identical calls are allowed among the last `window`, this one included. */
  readonly window?: number;
  /** Of `turns`: repeated turns are only recorded, and the thread goes on. */
  readonly records?: true;
  /** Of `turns`: the longest chain of turns by changing agents. */
  readonly hops?: number;
  /** Of `repeats` and `turns`: the longest block that may not occur twice in a row with the same results. */
  readonly cycle?: number;
  /** Of `repeats`: after this many failures of one tool in a row, the next call is refused. */
  readonly failures?: number;
  /** Of `repeats`: after this many failures of one call in a row with the same error, the error tells the agent to change it. */
  readonly sameFailure?: number;
  /** Of `repeats`: this meter compares only words. A read with the words of a recent call in another order is refused once. */
  readonly words?: true;
  /** Of `repeats`: fields of the input that are not compared. */
  readonly ignore?: readonly string[];
  readonly over: NodeId;
  /** The name of this bound in documents: `max_iterations`, `budgets.cost_usd`. */
  readonly label: string;
}

export interface AgentDef {
  readonly id: string;
  readonly name: string;
  readonly model: string | null;
  readonly instructions: string;
  readonly tools: readonly string[];
  readonly output: Json;
  readonly maxOutputTokens: number | null;
  readonly temperature: number | null;
  readonly settings?: CallSettings;
  /** The number of times that a reply is continued after it reached a limit set by the engine, if the budget has room. */
  readonly continuations?: number;
  /** The number of tool calls of one reply that run at once. */
  readonly toolWidth?: number;
}
/** Settings of an agent's model calls that are sent only if the author gives them. */
export interface CallSettings {
  readonly reasoningEffort?: (typeof REASONING_EFFORTS)[number];
  readonly topP?: number;
  readonly seed?: number;
  readonly stop?: readonly string[];
  readonly parallelToolCalls?: boolean;
  /** `required` and a named tool apply until the turn has a result of a tool; the reply after it is free. */
  readonly toolChoice?: 'auto' | 'required' | 'none' | { readonly tool: string };
}
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export interface ToolDef {
  readonly description: string;
  readonly input: Json;
  readonly output: Json;
  readonly effect: EffectClass;
  readonly implementation: Json;
  /** One attempt in one process. */
  readonly timeoutMs: number;
  /** The longest wait before an attempt, for a place under its rate limit. */
  readonly queueMs?: number;
  /** All attempts of one call, with the waits between them. */
  readonly wholeMs?: number;
  /** An attempt that is silent for longer is lost. */
  readonly heartbeatMs?: number;
  readonly permission: string;
  readonly idempotent: boolean;
  readonly compensate: string | null;
  /** `trusted`: its results contain no text from outside. `neutral`: its results follow from its arguments. */
  readonly trust?: 'trusted' | 'neutral';
  /** Trusted fields of its result; the other fields may hold text from outside. */
  readonly trustedFields?: readonly string[];
  readonly category?: string;
  /** Its results must not leave the machine without approval. */
  readonly confidential?: true;
  readonly rate?: { readonly calls: number; readonly perMs: number };
  /** Calls of one reply that use the same resource run one after another; reads of it run at once. */
  readonly resource?: string;
  /** The time for which its results are valid in memory. 0: for the run only. */
  readonly tenureMs?: number;
  /** Expressions over `args`, for the person who is asked about a call. */
  readonly amount?: Expr;
  readonly recipients?: Expr;
  readonly payee?: Expr;
  /** Whether an agent may make the same call again. Default: false for financial, communication and infrastructure. */
  readonly repeatable?: boolean;
}

/** The consequence of a refusal: the agent gets the reason, a person is asked, or the run fails. */
export type Consequence = 'tell' | 'ask' | 'fail';
/** The limits of an agent: what it may see, decide, call, write and spend. Part of the flow, so a run keeps its boundary. */
export interface BoundaryDef {
  readonly version: string;
  readonly profile: string | null;
  /** Patterns of readable sources; null for all granted sources. */
  readonly observations: readonly string[] | null;
  readonly stateWrites: readonly string[] | null;
  readonly decisions: readonly string[];
  readonly tools: {
    readonly allow: readonly string[];
    readonly approve: readonly string[];
    readonly deny: readonly string[];
  };
  /** The rule that decided about each tool: a key of the document, or the effect of the tool. */
  readonly rules: { readonly [tool: string]: string };
  /** The consequence of arguments from an untrusted source. */
  readonly untrusted: 'ask' | 'deny' | 'off';
  /** The input, or these fields of it, come from others. An argument that is found only there counts as untrusted. */
  readonly untrustedInput?: true | readonly string[];
  readonly escalation: { readonly [trouble: string]: Consequence };
  readonly failClosed: readonly { readonly what: string; readonly when: Expr; readonly code: TerminalCode }[];
  readonly approvalTimeoutMs: number | null;
  /** No person can be asked about the agent's work. */
  readonly people?: false;
}

export interface FlowBody {
  readonly ir: 1;
  readonly id: string;
  readonly notation: string;
  readonly entry: NodeId;
  /** The node after a let, a pick or a fork whose expression cannot be evaluated. */
  readonly fail: NodeId;
  readonly nodes: { readonly [id: NodeId]: Node };
  readonly meters: { readonly [id: MeterId]: Meter };
  readonly agents: { readonly [id: string]: AgentDef };
  readonly tools: { readonly [name: string]: ToolDef };
  readonly models: { readonly [alias: string]: Json };
  /** The `time` meter that runs from the start of the run; absent if the run has no deadline. */
  readonly clock?: MeterId;
  /** The least that any path from a node to a terminal still needs, where a budget limits that dimension. */
  readonly least: { readonly [id: NodeId]: Amounts };
  /** Cedar policies by id. If there are any, a call needs a policy that permits it. */
  readonly policies?: { readonly [id: string]: string };
  /** The autonomy boundary of every agent that proposes calls, by agent. */
  readonly boundaries?: { readonly [agent: string]: BoundaryDef };
  /** The protection of personal data. Absent in a document without `pii`. */
  readonly pii?: PiiPolicy;
  /** The people who answer questions, by id. If absent, any name is accepted as the name of the person who answers. */
  readonly people?: PeopleDef;
  /** Called when a question is asked. */
  readonly notify?: readonly NotifyHook[];
  readonly reviewQueue?: ReviewQueueLimits;
  /** The tier of the failure decision table; `batch` if absent. */
  readonly tier?: Tier;
  /** Protections whose state all runs of a store share. */
  readonly shared?: SharedProtections;
  readonly view?: View;
}
/**
 * A compiled flow: the graph that the engine runs, with its hash.
 * @example
 * const { flow: compiled } = compile('steps: [{ name: one, agent: writer }]');
 * if (compiled !== undefined) console.log((compiled as CompiledFlow).hash);
 */
export interface CompiledFlow extends FlowBody {
  readonly hash: string;
}
