/** `loop`: a bounded agent, or a planner and an executor, as a value. */
import { present } from '@sluice-internal/kernel/expr';
import type { LoopFields } from '@sluice-internal/notations/loop';
import type { Agent } from './agent.ts';
import { Parts, sectionsOf, withoutSettings, type Definition, type Settings } from './definition.ts';
import { conditionOf, recording, reference, type Expression, type Ref } from './expression.ts';

interface GoalScope {
  readonly goal: Ref<string>;
  readonly input: Ref<unknown>;
}
interface AnswerScope extends GoalScope {
  readonly answer: Ref<unknown>;
  readonly observations: Ref<readonly unknown[]>;
  readonly receipts: Ref<readonly unknown[]>;
}
/** A condition: recorded from a function, or CEL text. */
type Condition<Scope> = string | ((scope: Scope) => Expression<boolean>);

/** A verifier with settings of its own. */
interface VerifierSettings {
  readonly agent?: Agent | undefined;
  readonly model?: string | undefined;
  readonly instructions?: string | undefined;
  readonly confidence?: number | undefined;
}

type GivenVerifier = Agent | false | 'default' | VerifierSettings | undefined;

function isAgent(given: Agent | VerifierSettings): given is Agent {
  return 'id' in given;
}

function judgeOf(given: GivenVerifier): Agent | undefined {
  if (typeof given !== 'object') return undefined;
  return isAgent(given) ? given : given.agent;
}

function writtenVerifier(given: GivenVerifier): unknown {
  if (typeof given !== 'object') return given;
  return isAgent(given) ? given.id : present({ ...given, agent: given.agent?.id });
}

type Plain = Omit<
  LoopFields<string>,
  'id' | 'description' | 'criteria' | 'guards' | 'intents' | 'verifier' | 'escalation'
>;

interface Common extends Settings, Plain {
  /** Texts that the result must satisfy, and conditions over it. */
  readonly criteria?:
    | readonly (
        | string
        | {
            readonly when: Condition<AnswerScope>;
            readonly reason: string;
            readonly code?: 'VALIDATION_FAIL' | 'SOURCE_CONFLICT' | undefined;
          }
      )[]
    | undefined;
  /** Goals that are refused before any model is called. */
  readonly guards?:
    | readonly {
        readonly when: Condition<GoalScope>;
        readonly code?: 'UNSAFE_DETECTION' | 'PERMISSION_DENIED' | 'IMPOSSIBLE' | undefined;
        readonly reason: string;
      }[]
    | undefined;
  readonly intents?:
    | readonly {
        readonly id: string;
        readonly when: Condition<GoalScope>;
        readonly description?: string | undefined;
      }[]
    | undefined;
  /** Judges the answer. Default: the engine's own verifier, unless all criteria are conditions; `false`: none. */
  readonly verifier?: Agent | false | 'default' | VerifierSettings | undefined;
  readonly escalation?:
    | (Omit<NonNullable<LoopFields<string>['escalation']>, 'safer'> & { readonly safer?: Agent | undefined })
    | undefined;
}

export type LoopOptions<Worker extends Agent> = Common &
  (
    | { readonly agent: Worker; readonly planner?: undefined; readonly executor?: undefined }
    | { readonly agent?: undefined; readonly planner?: Agent; readonly executor: Worker }
  );

/**
 * A bounded loop. The input is the task; the output is the answer of the agent that does the work.
 * @example
 * const research = loop('research', { agent: researcher, criteria: ['Every figure has a source'], budgets: { modelCalls: 20 } });
 */
export function beginLoop<Worker extends Agent>(
  id: string,
  options: LoopOptions<Worker>,
): Definition<
  string,
  Worker extends Agent<string, infer Output> ? Output : never,
  { readonly [node: string]: string }
> {
  const { agent, planner, executor, verifier, escalation, criteria, guards, intents, ...fields } =
    withoutSettings(options);
  const parts = new Parts();
  for (const used of [agent, planner, executor, judgeOf(verifier), escalation?.safer])
    if (used !== undefined) parts.addAgent(used);
  const document = {
    ...parts.sections(),
    ...sectionsOf(options),
    loop: present({
      id,
      description: options.description,
      agent: agent?.id,
      planner: planner?.id,
      executor: executor?.id,
      verifier: writtenVerifier(verifier),
      ...fields,
      criteria: criteria?.map((each) => (typeof each === 'string' ? each : recorded(each))),
      guards: guards?.map(recorded),
      intents: intents?.map(recorded),
      escalation: escalation && present({ ...escalation, safer: escalation.safer?.id }),
    }),
  };
  return Object.freeze({ id, document, tools: parts.implementations(), input: undefined });
}

function recorded(each: { readonly when: Condition<never> }): object {
  return { ...each, when: condition(each.when) };
}

function condition(given: Condition<never>): string {
  if (typeof given === 'string') return given;
  const scope = Object.fromEntries(NAMES.map((name) => [name, reference(name)]));
  const about = 'a condition of a loop';
  return recording(about, () => conditionOf(given(scope as never), about));
}

const NAMES = ['goal', 'input', 'answer', 'observations', 'receipts'];
