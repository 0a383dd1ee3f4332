/**
 * `policy:grounding` compares the text of an agent with the observations of the run. The verdict names every unsupported statement;
 * the flow decides what follows. To add a detector, write one function and list it in `DETECTORS`.
 */
import { isRecord, listOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { Call } from '@sluice-internal/engine/ports';
import { flat, structured } from '../text/sources.ts';
import { actions } from './detectors/actions.ts';
import { citations } from './detectors/citations.ts';
import type { Detected, Detector, Evidence, Utterance } from './detector.ts';
import { failures } from './detectors/failures.ts';
import { lookups } from './detectors/lookups.ts';
import { observationsIn } from './observations.ts';
import { sentencesIn } from './value-sentences.ts';
import { testClaims } from './detectors/test-claims.ts';
import { toolWords, type ToolWords } from './tool-words.ts';
import { knownFrom, values } from './detectors/values.ts';

const DETECTORS: readonly Detector[] = [citations, actions, lookups, testClaims, values];

export function judgeUtterance(utterance: Utterance, evidence: Evidence): Required<Detected> {
  const detected = DETECTORS.map((detect) => detect(utterance, evidence));
  const findings = detected.flatMap((each) => each.findings);
  // A finding about a false claim already covers the failed call.
  const isReported = findings.some(({ kind }) => kind === 'action');
  return {
    findings: isReported ? findings : [...findings, ...failures(utterance, evidence).findings],
    confirmed: detected.flatMap(({ confirmed = [] }) => confirmed),
  };
}

export function evidenceOf(from: Omit<Evidence, 'known'>): Evidence {
  return { ...from, known: knownFrom({ ...from, userTexts: [...from.userTexts, ...from.confirmed] }) };
}

export function checkGrounding({ command, flow }: Call): Json {
  const { input } = command;
  const tools = toolWords(input['tools'], flow);
  const userAnswers = listOf(input['userAnswers']) as readonly { readonly turn: number; readonly text: Json }[];
  const { findings, confirmed } = judgeUtterance(
    utteranceOf(input),
    evidenceOf({
      observations: observationsIn(input['observations'], tools, input['reply'] ?? null),
      userTexts: [...(listOf(input['given']) as readonly Json[]), ...userAnswers.map((each) => each.text)].map((each) =>
        flat(structured(each)),
      ),
      given: Object.values(flow.agents).map(({ instructions }) => instructions),
      since: userAnswers.at(-1)?.turn ?? null,
      confirmed: listOf(input['claimed']).map(String),
      tools,
      elsewhere: changesElsewhere(flow, tools),
    }),
  );
  const [first] = findings;
  if (first === undefined) return { ok: true, claimed: [...confirmed] };
  const kinds = [...new Set(findings.map(({ kind }) => kind))];
  const subject = String(input['what'] ?? 'the answer');
  return {
    ok: false,
    kinds,
    reason: `${subject} ${first.reason}`,
    findings: findings.map(({ kind, text, reason }) => ({ kind, text, message: `${subject} ${reason}` })),
    claimed: [],
  };
}

/** A part of the flow can call a tool that changes something and is not one of these. */
export function changesElsewhere({ nodes, tools }: Call['flow'], own: readonly ToolWords[]): boolean {
  return Object.values(nodes).some((node) => {
    if (node.op !== 'do' || node.effect.kind !== 'tool') return false;
    const { tool: name } = node.effect;
    return !onlyReads(tools[name]?.effect) && !own.some((each) => each.name === name);
  });
}

/** A reply that asks, or that gives up, needs no citation. */
const UNCITED: ReadonlySet<string> = new Set(['missing_info', 'ambiguous', 'impossible', 'conflict']);

function utteranceOf({ reply: given = null, cite, claims, values: strictness }: Call['command']['input']): Utterance {
  const reply = structured(given);
  const fields = isRecord(reply) ? reply : {};
  const text = sentencesIn(reply);
  return {
    fields,
    text,
    answer: isRecord(reply) ? sentencesIn(reply['answer'] ?? null) : text,
    cite: cite === true && !UNCITED.has(String(fields['status'])),
    claims: claims === true,
    values: strictness === 'all' || strictness === 'off' ? strictness : 'names',
  };
}
