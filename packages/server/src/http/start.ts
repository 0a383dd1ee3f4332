/** Starts a run of a served document. A second start with the same key gives the same run, also in another process or after a restart. */
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { CompileError, SluiceError } from '@sluice-internal/library';
import type { Report } from '@sluice-internal/library';
import { newRunId } from '@sluice-internal/engine/ports';
import { pinsOf, withDefinition } from '@sluice-internal/platform';
import { hash } from 'node:crypto';
import { dirname } from 'node:path';
import { Refusal } from './problem.ts';
import type { Served } from './folder.ts';
import type { Services } from './services.ts';
import type { Who } from '../auth/who.ts';

export interface StartRequest {
  readonly input?: unknown;
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
  readonly body: { readonly run: string; readonly url: string; readonly report?: Report };
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
  const isNew = key === undefined || (await view.find(run)) === null;
  const deadline = given.deadline === undefined ? undefined : Date.parse(given.deadline);
  const origin = { pins: pinsFor(served), ...present({ user }) };
  const flow = served.compiled.definition ?? result.flow;
  const input = inputOf(result.flow.notation, given.input);
  try {
    await view.start(flow as never, { run, input: input as Json, origin, ...present({ seed, deadline, thread }) });
  } catch (error) {
    // The body was read; what is wrong is the input of this flow.
    if (error instanceof SluiceError && error.code === 'bad-start' && /the input of/.test(error.message))
      throw new Refusal('bad-input', error.message, { help: error.help ?? 'GET /v1/flows/{flow} has the schema.' });
    throw error;
  }
  const url = `/v1/runs/${encodeURIComponent(run)}`;
  if (wait === 0) return { run, isNew, body: { run, url } };
  await Promise.race([view.wait(run), new Promise((resolve) => setTimeout(resolve, wait * 1000).unref())]);
  return { run, isNew, body: { run, url, report: await view.get(run) } };
}

/** Keys of tenants, flows and callers cannot meet: the id is a hash of all of them. */
function runOf({ tenant }: Who, flow: string, key: string): string {
  if (key.length > 255) throw new Refusal('bad-request', 'the `Idempotency-Key` has more than 255 characters');
  return `r_${hash('sha256', JSON.stringify([tenant, flow, key]), 'hex').slice(0, 24)}`;
}

/** As `sluice run --input`: text for a task, an object for a flow. */
function inputOf(notation: string, given: unknown): unknown {
  if (notation !== 'flow') return given === undefined ? '' : typeof given === 'string' ? given : JSON.stringify(given);
  return given === undefined ? {} : typeof given === 'string' ? { message: given } : given;
}

function pinsFor({ compiled, path }: Served) {
  const { flow } = compiled.result;
  const names = Object.keys(compiled.definition?.tools ?? {});
  const places = flow === undefined ? {} : pinsOf(flow, { documentDir: dirname(path), workDir: undefined });
  return names.length === 0 ? places : withDefinition(places, path, names);
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
