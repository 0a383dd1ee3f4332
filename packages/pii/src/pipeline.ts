/**
 * Replaces personal data by tokens in everything that enters the journal: the input of a run, results of tools, replies of models,
 * answers of people. Tools and agents that the document trusts receive the original values; nothing else does.
 */
import { mapTexts, withAllFields } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { CompiledFlow, Failure, PiiPolicy, RunId, Settled } from '@sluice-internal/kernel/ir';
import { PerformError, SluiceError, fail, failureOf } from '@sluice-internal/engine/ports';
import type { Call, Performer } from '@sluice-internal/engine/ports';
import { refusedResult } from '@sluice-internal/platform';
import { createDetect, type Detect, type Found } from './detect.ts';
import { Taken, longestOf } from './detectors/detector.ts';
import { askService, PII_SERVICE_ERROR } from './service.ts';
import { LOOKALIKE, TOKEN, type Vault } from './vault.ts';

/** Opens the vault with the key that a document names, or with the default key. */
export type OpenVault = (keyFile: string | undefined, documentDir: string | undefined) => Vault;

/** One pipeline for each policy and folder. */
export class Pipelines {
  readonly open: OpenVault;
  readonly #known = new Map<string, Pipeline>();

  constructor(open: OpenVault) {
    this.open = open;
  }

  of(policy: PiiPolicy, documentDir: string | undefined): Pipeline {
    const id = JSON.stringify([policy, documentDir]);
    const pipeline = this.#known.get(id) ?? new Pipeline(policy, this.open(policy.keyFile, documentDir));
    this.#known.set(id, pipeline);
    return pipeline;
  }

  /** The name of a file as it may be stored. The call that brought it may repeat its tokens. */
  async fileName({ pii }: CompiledFlow, run: RunId, name: string, documentDir: string | undefined): Promise<string> {
    return pii === undefined ? name : this.of(pii, documentDir).protectFileName(run, name);
  }
}

export function withPii(performer: Performer, pipelines: Pipelines): Performer {
  return {
    ...performer,
    perform: (call) => {
      const { pii } = call.flow;
      return pii === undefined ? performer.perform(call) : performProtected(performer, call, pipelines, pii);
    },
    checkKey: async (flow: CompiledFlow, run: RunId, documentDir?: string) => {
      if (flow.pii !== undefined) await pipelines.open(flow.pii.keyFile, documentDir).check(run);
    },
    protect: async (flow: CompiledFlow, run: RunId, value: Json, documentDir?: string, shown?: unknown) => {
      if (flow.pii === undefined) return value;
      const pipeline = pipelines.of(flow.pii, documentDir);
      return pipeline.protect(run, value, 'outside', tokensIn(shown)).catch(asCommandError);
    },
  };
}

/** Outside a call, personal data that is refused and a service that cannot be used are errors of the command. */
export function asCommandError(error: unknown): never {
  if (!(error instanceof PerformError)) throw error;
  if (error.type === BLOCKED)
    throw new SluiceError('pii-blocked', error.message, 'Remove it, or set `pii.mode: tokenize`.', error);
  if (error.type !== PII_SERVICE_ERROR) throw error;
  const help = 'Start the analyzer, or correct `pii.service.url`. Nothing was recorded.';
  throw new SluiceError('pii-service', error.message, help, error);
}

const BLOCKED = 'PersonalDataError';

async function performProtected(
  performer: Performer,
  call: Call,
  pipelines: Pipelines,
  policy: PiiPolicy,
): Promise<Settled> {
  const pipeline = pipelines.of(policy, call.pins?.documentDir);
  const { kind, name, input } = call.command;
  // A fork uses the tokens of the run that it branches off.
  const run = call.pins?.tokensOf ?? call.command.run;
  const isTrusted = (kind === 'tool' || kind === 'model') && pipeline.policy.trusted.includes(name);
  if (!isTrusted && kind === 'tool') await pipeline.release(run, input);
  const original = isTrusted ? ((await pipeline.restore(run, input)) as Call['command']['input']) : input;
  const inner = isTrusted || kind === 'tool' ? unstreamed(call, original) : call;
  const result = await resultOf(performer, inner);
  const origin = kind === 'model' ? 'model' : 'outside';
  // A check returns the arguments that it was given, so their tokens are not forged.
  const given = kind === 'check' ? tokensIn(input) : NO_TOKENS;
  const protect = (value: Json): Promise<Json> => pipeline.protect(run, value, origin, given);
  if (result.ok)
    return protect(result.value).then(
      (value) => ({ ...result, value }),
      (error: unknown) => ({ ...charged(result), ...refused(call, error) }),
    );
  return { ...result, error: await protectedFailure(result.error, protect) };
}

/** The provider charges for a reply also if it may not be recorded. */
function charged({ used }: Settled): Pick<Settled, 'used'> {
  return used === undefined ? {} : { used };
}

/** The call of a tool took effect, also if its result may not be recorded. */
function refused(call: Call, error: unknown): Settled {
  const failure = failureOf(call.command.kind === 'tool' ? refusedResult(call, error) : error);
  if (failure.ran !== true) return { ok: false, error: failure };
  const message = `\`${call.command.name}\` was called, but its result is refused: ${failure.message}`;
  return { ok: false, error: { ...failure, message } };
}

async function protectedFailure(failure: Failure, protect: (value: Json) => Promise<Json>): Promise<Failure> {
  const { partial, ...rest } = failure;
  if (rest.class === 'timeout' || rest.ran === true) {
    // The call happened or may have happened, also if its message may not be recorded.
    const message = await protect(rest.message).catch((error: unknown) => failureOf(error).message);
    return { ...rest, message: String(message) };
  }
  try {
    const message = String(await protect(rest.message));
    // The reply that broke off goes to the journal too, for the attempt that continues it.
    return { ...rest, message, ...(partial === undefined ? {} : { partial: await protect(partial) }) };
  } catch (error) {
    return { ...failureOf(error), ...(rest.unmeasured === true ? { unmeasured: true } : {}) };
  }
}

const NO_TOKENS: ReadonlySet<string> = new Set();

function tokensIn(value: unknown): ReadonlySet<string> {
  return new Set((JSON.stringify(value) ?? '').match(TOKEN));
}

/** An error becomes a failure, because its message can hold personal data too. */
async function resultOf(performer: Performer, call: Call): Promise<Settled> {
  try {
    return await performer.perform(call);
  } catch (error) {
    if (call.signal.aborted) throw error;
    return { ok: false, error: failureOf(error) };
  }
}

/** The signal is made when it is asked for, so it stays with the call. Streamed text would show the values, so nothing is streamed. */
function unstreamed(call: Call, input: Call['command']['input']): Call {
  return {
    command: { ...call.command, input },
    flow: call.flow,
    clock: call.clock,
    pins: call.pins,
    idempotencyKey: call.idempotencyKey,
    get signal() {
      return call.signal;
    },
  };
}

function refuseBlocked(types: readonly string[]): void {
  if (types.length > 0)
    throw fail('policy', BLOCKED, `personal data is not allowed here: ${[...new Set(types)].join(', ')}`);
}

/** Text from outside can imitate a token. A model may repeat the tokens that it was given. */
type TextOrigin = 'outside' | 'model';

class Pipeline {
  readonly policy: PiiPolicy;
  readonly #vault: Vault;
  readonly #detect: Detect;

  constructor(policy: PiiPolicy, vault: Vault) {
    this.policy = policy;
    this.#vault = vault;
    this.#detect = createDetect(policy);
  }

  /** `given` are tokens that the text may repeat. Throws if the document refuses personal data, and the value has some. */
  async protect(run: RunId, value: Json, origin: TextOrigin, given: ReadonlySet<string> = NO_TOKENS): Promise<Json> {
    const blocked: string[] = [];
    const safe = await protectTexts(value, null, async (text, field) => {
      const found = await this.#find(text, field);
      if (this.policy.mode === 'block') {
        blocked.push(...found.map(({ type }) => type));
        return text;
      }
      const isForged = async (token: string): Promise<boolean> =>
        origin === 'outside' && !given.has(token) && !(await this.#vault.isReleased(run, token));
      return this.#replace(run, text, found, isForged);
    });
    refuseBlocked(blocked);
    return safe;
  }

  /** `_` stands for a space in many names of files, and the detectors take it for a letter. */
  async protectFileName(run: RunId, name: string): Promise<string> {
    const spaced = name.replaceAll('_', ' ');
    const found = [
      ...(await this.#find(name, 'name')),
      ...[name, spaced].flatMap((text) => this.#detect(text, null)),
      ...this.#detect(spaced, 'name'),
    ];
    const kept = longestOf(found);
    if (this.policy.mode === 'block') refuseBlocked(kept.map(({ type }) => type));
    const value = await this.#replace(run, name, kept, async (token) => {
      return !(await this.#vault.isReleased(run, token));
    });
    await this.release(run, value);
    return value;
  }

  async restore(run: RunId, value: Json): Promise<Json> {
    const originals = new Map<string, string>();
    for (const token of tokensIn(value)) {
      const original = await this.#vault.valueOf(run, token);
      if (original === null) throw fail('semantic', 'UnknownTokenError', `${token} has no value in this run`);
      originals.set(token, original);
    }
    const restored = (text: string): string => text.replace(TOKEN, (token) => originals.get(token) ?? token);
    return mapTexts(value, restored, restored);
  }

  async release(run: RunId, value: unknown): Promise<void> {
    for (const token of tokensIn(value)) await this.#vault.release(run, token);
  }

  async #find(text: string, field: string | null): Promise<readonly Found[]> {
    const own = this.#detect(text, field);
    const { service } = this.policy;
    if (service === undefined) return own;
    const others = await askService(service, text, this.policy);
    const taken = new Taken(own);
    return [...own, ...others.filter((other) => !taken.overlaps(other))];
  }

  async #replace(
    run: RunId,
    text: string,
    found: readonly Found[],
    isForged: (token: string) => Promise<boolean>,
  ): Promise<string> {
    const tokens = [...text.matchAll(TOKEN)].map((match) => ({
      start: match.index,
      end: match.index + match[0].length,
    }));
    const taken = new Taken(tokens);
    const forged = await Promise.all(tokens.map(({ start, end }) => isForged(text.slice(start, end))));
    const spans = [
      ...tokens.filter((_, index) => forged[index] === true).map((span) => ({ ...span, type: LOOKALIKE })),
      ...found.filter((span) => !taken.overlaps(span)),
    ].toSorted((a, b) => a.start - b.start);
    const kept: Found[] = [];
    for (const span of spans) if (span.start >= (kept.at(-1)?.end ?? 0)) kept.push(span);
    const made = await Promise.all(
      kept.map(({ type, start, end }) => this.#vault.tokenFor(run, type, text.slice(start, end))),
    );
    const parts = kept.map(({ start }, index) => text.slice(kept[index - 1]?.end ?? 0, start) + (made[index] ?? ''));
    return parts.join('') + text.slice(kept.at(-1)?.end ?? 0);
  }
}

/** A number of this length can be a card number. A shorter number counts only if the name of its field says so. */
const NUMBER_DIGITS_MIN = 8;

async function protectTexts(
  value: Json,
  field: string | null,
  change: (text: string, field: string | null) => Promise<string>,
): Promise<Json> {
  if (typeof value === 'string') return change(value, field);
  if (typeof value === 'number') {
    const text = String(value);
    if (!/^\d+$/.test(text) || text.length < NUMBER_DIGITS_MIN) return value;
    const changed = await change(text, field ?? '');
    return changed === text ? value : changed;
  }
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return Promise.all(value.map((item) => protectTexts(item, field, change)));
  const entries: [string, Json][] = [];
  for (const [key, item] of Object.entries(value))
    entries.push([await change(key, ''), await protectTexts(item, key, change)]);
  return withAllFields(entries);
}
