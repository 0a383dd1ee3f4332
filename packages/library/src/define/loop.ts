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

type Plain = Omit<
  LoopFields<string>,
  'id' | 'description' | 'criteria' | 'guards' | 'validate' | 'intents' | 'verifier' | 'escalation'
>;

interface Common extends Settings, Plain {
  /** Texts that the result must satisfy, and conditions over it. */
  readonly criteria?:
    | readonly (string | { readonly when: Condition<AnswerScope>; readonly reason: string })[]
    | undefined;
  /** Goals that are refused before any model is called. */
  readonly guards?:
    | readonly {
        readonly when: Condition<GoalScope>;
        readonly code?: 'UNSAFE_DETECTION' | 'PERMISSION_DENIED' | 'IMPOSSIBLE' | undefined;
        readonly reason: string;
      }[]
    | undefined;
  /** Conditions that an answer must fulfil. */
  readonly validate?: readonly { readonly when: Condition<AnswerScope>; readonly reason: string }[] | undefined;
  readonly intents?:
    | readonly {
        readonly id: string;
        readonly when: Condition<GoalScope>;
        readonly description?: string | undefined;
      }[]
    | undefined;
  /** Judges every answer. */
  readonly verifier?: Agent | undefined;
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
  const { agent, planner, executor, verifier, escalation, criteria, guards, validate, intents, ...fields } =
    withoutSettings(options);
  const parts = new Parts();
  for (const used of [agent, planner, executor, verifier, escalation?.safer])
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
      verifier: verifier?.id,
      ...fields,
      criteria: criteria?.map((each) => (typeof each === 'string' ? each : recorded(each))),
      guards: guards?.map(recorded),
      validate: validate?.map(recorded),
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
