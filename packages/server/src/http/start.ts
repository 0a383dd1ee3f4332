/** Starts a run of a served document. A second start with the same key gives the same run, also in another process or after a restart. */
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { CompileError, SluiceError } from '@sluice-internal/library';
import { checkedInput } from '@sluice-internal/library/define';
import { newRunId } from '@sluice-internal/engine/ports';
import { hash } from 'node:crypto';
import { redactedReport } from './content.ts';
import { Refusal } from './problem.ts';
import { withUploads } from './uploads.ts';
import type { Served } from './folder.ts';
import type { Services } from './services.ts';
import type { Who } from '../auth/who.ts';

export interface StartRequest {
  readonly input?: Json | undefined;
  readonly user?: string | undefined;
  readonly deadline?: string | undefined;
  readonly seed?: number | undefined;
  readonly script?: string | undefined;
  readonly thread?: string | undefined;
  readonly key?: string | undefined;
  /** Seconds to wait until the run has ended or waits for a person. */
  readonly wait: number;
}

interface StartedRun {
  readonly run: string;
  readonly isNew: boolean;
  readonly body: { readonly run: string; readonly url: string; readonly report?: object };
}

export async function startRun(services: Services, who: Who, served: Served, given: StartRequest): Promise<StartedRun> {
  const { key, script, user, seed, thread, wait } = given;
  const { result } = served.compiled;
  if (result.flow === undefined) throw new CompileError(served.id, result.diagnostics);
  if (user !== undefined && who.person !== null)
    throw new Refusal('user-not-allowed', `a run that \`${who.person}\` starts is for \`${who.person}\``, {
      help: 'Leave `user` out.',
    });
  const run = key === undefined ? newRunId() : runOf(who, served.id, key);
  const view = await services.view(who, script === undefined ? undefined : scriptOf(services, script));
  const raw = inputOf(result.flow.notation, given.input);
  const { definition } = served.compiled;
  // The engine checks the input of a definition itself, and makes of it what the definition says.
  const isDefined = served.isDefinition === true && definition !== undefined;
  const input = await withUploads(services.uploads, who.tenant, raw, async (given) => {
    const checked = await demandInput(served, given);
    return isDefined ? given : checked;
  });
  const flow = isDefined ? (definition as never) : result.flow;
  const deadline = given.deadline === undefined ? undefined : Date.parse(given.deadline);
  const origin = { by: who.person ?? who.name, ...present({ user }) };
  const isNew = await inTurn(services.turns, run, async () => {
    const isFirst = key === undefined || (await view.find(run)) === null;
    await view.start(flow, { run, input, origin, ...present({ seed, deadline, thread }) });
    return isFirst;
  });
  const url = `/v1/runs/${encodeURIComponent(run)}`;
  if (wait === 0) return { run, isNew, body: { run, url } };
  await untilSettled(view.wait(run), wait, [services.stopping]);
  const report = await view.get(run);
  return { run, isNew, body: { run, url, report: who.content ? report : redactedReport(report) } };
}

/** Keys of tenants, flows and callers cannot meet: the id is a hash of all of them. */
function runOf({ tenant }: Who, flow: string, key: string): string {
  if (key.length > 255 || key.trim() === '')
    throw new Refusal('bad-request', 'the `Idempotency-Key` is empty or has more than 255 characters');
  return `r_${hash('sha256', JSON.stringify([tenant, flow, key]), 'hex').slice(0, 24)}`;
}

/** The input as the definition of the flow wants it. The body was read; what is wrong is the input of this flow. */
async function demandInput({ compiled: { definition } }: Served, input: Json): Promise<Json> {
  if (definition === undefined) return input;
  try {
    return await checkedInput(definition, input);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    throw new Refusal('bad-input', error.message, { help: error.help ?? 'GET /v1/flows/{flow} has the schema.' });
  }
}

/** Starts with one key come one after the other, so that one of them says that it made the run. */
async function inTurn<Result>(turns: Services['turns'], run: string, work: () => Promise<Result>): Promise<Result> {
  const before = turns.get(run);
  const own = (async () => {
    await before?.catch(() => undefined);
    return work();
  })();
  turns.set(run, own);
  try {
    return await own;
  } finally {
    if (turns.get(run) === own) turns.delete(run);
  }
}

/** Ends also if the run does not settle in this time, or nobody waits for the answer any more. */
export async function untilSettled(
  settled: Promise<void>,
  seconds: number,
  signals: readonly AbortSignal[],
): Promise<void> {
  const stop = AbortSignal.any([AbortSignal.timeout(seconds * 1000), ...signals]);
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  stop.addEventListener('abort', () => resolve(), { once: true });
  await Promise.race([settled, stopped]);
}

/** As `sluice run --input`: text for a task, an object for a flow. */
function inputOf(notation: string, given: Json | undefined): Json {
  if (notation !== 'flow') return given === undefined ? '' : typeof given === 'string' ? given : JSON.stringify(given);
  return given === undefined ? {} : typeof given === 'string' ? { message: given } : given;
}

/** Only a server of this machine plays scripts, and only those of its folders, by their names. */
function scriptOf({ folder, isLocal }: Services, name: string): string {
  const path = isLocal ? folder.script(name) : undefined;
  if (path !== undefined) return path;
  throw new Refusal(
    'bad-input',
    isLocal ? `there is no script \`${name}\` in the served folders` : 'this server plays no scripts',
    {
      help: isLocal
        ? `Write \`${name}.script.yaml\` beside the document.`
        : 'Scripts are for a server that listens on this machine only.',
    },
  );
}
