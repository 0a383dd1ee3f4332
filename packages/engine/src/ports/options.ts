/**
 * The options of the public functions. An option that is `less` takes access away: the caller has more of it without a value. A
 * program in JavaScript passes `undefined` where it meant a name, so such an option is an error when it is there and empty.
 * Every other option is `free`.
 */
import { isRecord } from '@sluice-internal/kernel/expr';
import { SluiceError } from './errors.ts';

export type Meaning = 'less' | 'free';

export const OPTIONS = {
  createEngine: {
    journal: 'free',
    flows: 'free',
    script: 'less',
    tenant: 'less',
    signingKey: 'less',
    serverKey: 'less',
    pickUp: 'less',
    concurrency: 'less',
    leaseMs: 'free',
    snapshotEvery: 'free',
    limits: 'less',
    retain: 'free',
    exportRun: 'free',
    onRemoved: 'free',
    signing: 'less',
    quotas: 'less',
    worstCase: 'free',
    onFault: 'free',
    onNotice: 'free',
    models: 'free',
    model: 'free',
    tools: 'free',
    toolOptions: 'free',
    performer: 'less',
    onMissing: 'free',
    vault: 'free',
    clock: 'free',
    attachments: 'free',
  },
  /** Of `createEngine({ toolOptions })`. Hosts and folders are allowed by name, so without a value there are fewer of them. */
  toolOptions: {
    workDir: 'free',
    documentDir: 'free',
    http: 'free',
    shell: 'free',
    code: 'free',
    files: 'free',
    mcp: 'free',
    resultMax: 'free',
    env: 'less',
    memory: 'free',
    embedder: 'free',
  },
  'engine.as': { tenant: 'less', person: 'free', proof: 'free', access: 'less' },
  'engine.start': { run: 'free', input: 'free', seed: 'free', origin: 'less', deadline: 'less', thread: 'less' },
  'engine.run': { id: 'free', seed: 'free', origin: 'less', deadline: 'less', thread: 'less' },
  /** Of a start. */
  origin: {
    by: 'free',
    tenant: 'less',
    user: 'less',
    deadline: 'free',
    pins: 'free',
    parent: 'free',
    scripted: 'free',
  },
  'engine.answer': {
    choice: 'free',
    by: 'free',
    text: 'free',
    edit: 'free',
    payload: 'less',
    key: 'free',
    signature: 'free',
    signedAt: 'free',
    login: 'free',
  },
  openSqlite: { busyMs: 'free', readOnly: 'less', onNotice: 'free', codec: 'less' },
  openPostgres: { readOnly: 'less', onNotice: 'free', onViolation: 'free', pollMs: 'free' },
  /** The caller of a memory store. */
  memory: { operator: 'less', tenant: 'less' },
  /** Options of the command line, of all commands. Those that are not here are free. */
  sluice: {
    tenant: 'less',
    user: 'less',
    as: 'less',
    script: 'less',
    payload: 'less',
    key: 'less',
    heads: 'less',
    flow: 'less',
    deadline: 'less',
    olderThan: 'less',
  },
} as const satisfies { readonly [of: string]: { readonly [option: string]: Meaning } };

/** Throws if an option that takes access away is there without a value. */
export function refuseEmpty(of: keyof typeof OPTIONS, options: unknown, code: SluiceError['code'] = 'bad-start'): void {
  const meanings: { readonly [option: string]: Meaning } = OPTIONS[of];
  if (!isRecord(options)) return;
  for (const [name, value] of Object.entries(options)) {
    if (meanings[name] !== 'less' || !isEmpty(value)) continue;
    const option = of === 'sluice' ? `--${name.replaceAll(/[A-Z]/g, (each) => `-${each.toLowerCase()}`)}` : name;
    const message = `\`${option}\` of \`${of}\` is there and has no value: ${shown(value)}`;
    throw new SluiceError(code, message, 'Give it a value. Leave the option out if it is not meant.');
  }
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'string') return value.replaceAll(/[\s\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, '') === '';
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function shown(value: unknown): string {
  return value === undefined ? 'undefined' : JSON.stringify(value);
}
