/** Runs all detectors over a run, and names the agent and the step that decided a failure. */
import type { CallRecord, RunRecord } from '../journal/record.ts';
import * as control from './control.ts';
import type { Pathology, Peers } from './detector.ts';
import * as loops from './loops.ts';
import { trajectoryOf, type Trajectory } from './trajectory.ts';
import * as truth from './truth.ts';

/** The 23 pathologies, in the order of the specification. */
export const PATHOLOGIES: readonly Pathology[] = [
  loops.runawayLoops,
  loops.toolSpam,
  truth.planGoalDrift,
  truth.contextBloat,
  truth.memoryPoisoning,
  truth.hallucinatedObservation,
  truth.prematureTermination,
  loops.refusalToStop,
  loops.overReflection,
  loops.redundantDecomposition,
  loops.duplicateActions,
  control.budgetBlowout,
  truth.staleState,
  control.permissionCreep,
  control.toolOverreach,
  control.coordinationFailure,
  control.validatorRetryStorm,
  control.reviewQueueSaturation,
  truth.memoryWritePoisoning,
  control.credentialExpiry,
  truth.observationParserDrift,
  control.idempotencyFailure,
  control.escalationBypass,
];

export interface Finding extends Pick<Pathology, 'id' | 'title' | 'symptom' | 'mast'> {
  readonly seen: string;
  readonly events: readonly number[];
  /** The reaction that contained it, or the step to take now. */
  readonly containment: string;
  readonly contained: boolean;
  readonly remedy: string;
  readonly agent: string | null;
  readonly node: string | null;
}
/** The agent and the first decisive step of a run that did not succeed. */
interface Blame {
  readonly agent: string | null;
  readonly node: string | null;
  readonly seq: number;
  readonly why: string;
}
export interface Diagnosis {
  readonly run: string;
  readonly flow: string;
  readonly state: string;
  readonly code: string | null;
  readonly findings: readonly Finding[];
  /** Null for a run that succeeded or still works. */
  readonly failure: Blame | null;
}

export function diagnose(record: RunRecord, peers: Peers = alone(record)): Diagnosis {
  const run = trajectoryOf(record);
  const { flow, state, code } = run;
  const findings = findingsIn(run, peers);
  return { run: run.run, flow, state, code, findings, failure: blameIn(record, run, findings) };
}

export function findingsIn(run: Trajectory, peers: Peers): readonly Finding[] {
  return PATHOLOGIES.flatMap((pathology) => {
    const found = pathology.detect(run, peers);
    if (found === null) return [];
    const { id, title, symptom, mast, containment } = pathology;
    return [
      {
        id,
        title,
        symptom,
        seen: found.seen,
        events: [...new Set(found.events)].sort((a, b) => a - b),
        containment: found.contained ?? `none took place. ${containment}`,
        contained: (found.contained ?? null) !== null,
        remedy: found.remedy,
        mast,
        agent: found.agent ?? null,
        node: found.node ?? null,
      },
    ];
  });
}

function alone({ read, report }: RunRecord): Peers {
  return { successes: [], openQuestions: report.waiting.length, now: read.state.now };
}

const UNSUCCESSFUL: ReadonlySet<string> = new Set(['BUDGET_EXHAUSTED', 'PARTIAL_SUCCESS']);

/**
 * The first failure of the call that ended the run, with no success of the same node in between; or the first event of the
 * earliest finding; or the last reply.
 */
function blameIn({ calls, report }: RunRecord, run: Trajectory, findings: readonly Finding[]): Blame | null {
  const { state, code, error, reason = code ?? '' } = report;
  if (state !== 'failed' && !UNSUCCESSFUL.has(code ?? '')) return null;
  const why = error === null ? reason : error.message;
  const failed = error === null ? undefined : calls.findLast((call) => errorOf(call) === error.message);
  if (failed !== undefined) return { ...firstFailure(calls, failed), why };
  const last = run.replies.at(-1);
  const agent = last === undefined ? null : last.agent;
  const [cause] = findings.toSorted((a, b) => (a.events[0] ?? 0) - (b.events[0] ?? 0));
  if (cause !== undefined)
    return {
      agent: cause.agent ?? agent,
      node: cause.node,
      seq: cause.events[0] ?? 1,
      why: `${cause.title}: ${cause.seen}`,
    };
  if (last !== undefined) return { agent, node: last.node, seq: last.settled, why };
  return { agent, node: error === null ? null : error.node, seq: run.last, why };
}

function errorOf({ verdict }: CallRecord): string | null {
  return verdict === null || verdict.error === null ? null : verdict.error.message;
}

function firstFailure(calls: readonly CallRecord[], failed: CallRecord): Omit<Blame, 'why'> {
  const mine = calls.filter(({ node, seq }) => node === failed.node && seq <= failed.seq);
  const lastGood = mine.findLastIndex(({ verdict }) => verdict !== null && verdict.accepted);
  const [first = failed] = mine.slice(lastGood + 1);
  const [retried] = first.retries;
  const seq = retried === undefined ? (first.verdict === null ? first.seq : first.verdict.seq) : retried.seq;
  return { agent: first.agent, node: first.node, seq };
}
