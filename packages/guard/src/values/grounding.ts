/**
 * `policy:grounding` compares the values of a reply with the observations of the run, and the citations and claimed calls that
 * the reply lists. The verdict names everything without support; the flow decides what follows.
 */
import { isRecord, listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Call } from '@sluice-internal/engine/ports';
import { INVISIBLE, flat, structured } from '../text/sources.ts';
import { READ_MAX } from '../text/value-keys.ts';
import { citationsOf } from './citations.ts';
import { usedTools, type Finding, type Material, type Observation, type Utterance } from './evidence.ts';
import { knownFrom } from './known.ts';
import { unknownValues } from './values.ts';

const SHOWN_MAX = 5;
const LONG_NOTE = `; a long text is searched only for the value as written after its first ${READ_MAX.toLocaleString('en')} characters`;

export function judgeUtterance(utterance: Utterance, material: Material): readonly Finding[] {
  return [...citationsOf(utterance, material), ...valuesOf(utterance, material)];
}

/** An agent without tools has no observations to compare with. */
function valuesOf({ text, values }: Utterance, material: Material): readonly Finding[] {
  if (values === 'off' || material.tools.length === 0) return [];
  const known = knownFrom(material);
  const unknown = unknownValues(text, values, known);
  if (unknown.length === 0) return [];
  const shown = unknown.slice(0, SHOWN_MAX).join(', ');
  const reason = `states ${shown}, which occurs in no observation and was not given${known.isComplete ? '' : LONG_NOTE}`;
  return [{ kind: 'value', text: shown, reason }];
}

/** The text of a value as a reader sees it. */
function readable(value: Json): string {
  return flat(structured(value)).replace(INVISIBLE, '');
}

export function checkGrounding({ command, flow }: Call): Json {
  const { input } = command;
  const userAnswers = listOf(input['userAnswers']) as readonly { readonly text: Json }[];
  const findings = judgeUtterance(utteranceOf(input), {
    observations: listOf(input['observations']) as readonly Observation[],
    userTexts: [...(listOf(input['given']) as readonly Json[]), ...userAnswers.map((each) => each.text)].map((each) =>
      flat(structured(each)),
    ),
    given: Object.values(flow.agents).map(({ instructions }) => instructions),
    tools: usedTools(input['tools'], flow),
  });
  const [first] = findings;
  if (first === undefined) return { ok: true };
  const subject = String(input['what'] ?? 'the answer');
  return {
    ok: false,
    kinds: [...new Set(findings.map(({ kind }) => kind))],
    reason: `${subject} ${first.reason}`,
    findings: findings.map(({ kind, text, reason }) => ({ kind, text, message: `${subject} ${reason}` })),
  };
}

/** A reply that asks, or that gives up, needs no citation. */
const UNCITED: ReadonlySet<string> = new Set(['missing_info', 'ambiguous', 'impossible', 'conflict']);

function utteranceOf({ reply: given = null, cite, values }: Call['command']['input']): Utterance {
  const reply = structured(given);
  const fields = isRecord(reply) ? reply : {};
  return {
    fields,
    text: readable(reply),
    cite: cite === true && !UNCITED.has(String(fields['status'])),
    values: values === 'all' || values === 'off' ? values : 'names',
  };
}
