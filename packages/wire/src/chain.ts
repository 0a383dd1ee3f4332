/**
 * The chain of a journal: what the hash of each append covers, and the check of a whole exported file. It needs only SHA-256 and
 * Ed25519, which every host has, so a browser checks a file with the code of the engine.
 */

/** The text before the first append: its hash binds the chain to the run and to its graph. */
export function genesisText(run: string, graphPrint: string): string {
  return `${run}\n${graphPrint}`;
}

/** The text of an append: the hash before it, its position, its time and its bytes. */
export function linkText(previous: string, after: number, at: number, body: string): string {
  return `${previous}\n${after} ${at}\n${body}`;
}

/** The text of a signed statement about the end of a chain. */
export function checkpointText(store: string, run: string, { seq, head, at, key }: Omit<Signed, 'signature'>): string {
  return JSON.stringify(['sluice-checkpoint/1', store, run, seq, head, at, key]);
}

interface Signed {
  readonly seq: number;
  readonly head: string;
  readonly at: number;
  readonly key: string;
  readonly signature: string;
}

/** The parts of a file of `sluice audit export` that its chain covers. */
export interface ExportedRun {
  readonly format: string;
  readonly store: string;
  readonly run: string;
  readonly graph: string;
  readonly appends: readonly {
    readonly after: number;
    readonly count: number;
    readonly at: number;
    readonly body: string;
    readonly hash: string;
  }[];
  readonly values: readonly { readonly hash: string; readonly body: string }[];
  readonly checkpoints?: readonly Signed[];
}

export interface Crypto {
  /** SHA-256 in base64url. */
  sha256(text: string): Promise<string>;
  /** Ed25519. The key is `ed25519:` and base64url, the signature base64. */
  verify(key: string, signature: string, text: string): Promise<boolean>;
}

export interface ChainCheck {
  readonly events: number;
  readonly appends: number;
  readonly head: string;
  /** The keys of the checkpoints that hold. */
  readonly signedBy: readonly { readonly seq: number; readonly key: string }[];
  /** The first event of the first append whose hash does not fit, and why. Null if everything holds. */
  readonly broken: { readonly seq: number; readonly last: number; readonly message: string } | null;
}

const FORMAT = 'sluice-run/1';

/** Null if the value is no such file. */
export function readExport(value: unknown): ExportedRun | null {
  if (value === null || typeof value !== 'object') return null;
  const { format, store, run, graph, appends, values } = value as Partial<ExportedRun>;
  const isFile =
    format === FORMAT && [store, run, graph].every((each) => typeof each === 'string') && Array.isArray(appends);
  return isFile && Array.isArray(values) ? (value as ExportedRun) : null;
}

export async function checkChain(file: ExportedRun, crypto: Crypto): Promise<ChainCheck> {
  const { run, graph, appends } = file;
  let head = await crypto.sha256(genesisText(run, await crypto.sha256(graph)));
  let events = 0;
  const result = (broken: ChainCheck['broken'], signedBy: ChainCheck['signedBy'] = []): ChainCheck => ({
    ...{ events, appends: appends.length, head, signedBy, broken },
  });
  for (const { after, count, at, body, hash } of appends) {
    const place = { seq: events + 1, last: events + count };
    if (after !== events)
      return result({ ...place, message: `event ${events + 1} follows, and the file goes on after event ${after}` });
    if ((await crypto.sha256(linkText(head, after, at, body))) !== hash)
      return result({
        ...place,
        message: 'the events do not give their hash: they, or what is before them, were changed',
      });
    head = hash;
    events += count;
  }
  for (const { hash, body } of file.values)
    if ((await crypto.sha256(body)) !== hash) {
      const user = appends.find((append) => append.body.includes(hash));
      const seq = (user?.after ?? 0) + 1;
      return result({ seq, last: seq, message: `the value ${hash} that it refers to was changed` });
    }
  return checkSignatures(file, crypto, result);
}

async function checkSignatures(
  { store, run, appends, checkpoints = [] }: ExportedRun,
  crypto: Crypto,
  result: (broken: ChainCheck['broken'], signedBy: ChainCheck['signedBy']) => ChainCheck,
): Promise<ChainCheck> {
  const signedBy: { seq: number; key: string }[] = [];
  for (const { signature, ...checkpoint } of checkpoints) {
    const { seq, head, key } = checkpoint;
    const place = { seq, last: seq };
    if (appends.find(({ after, count }) => after + count === seq)?.hash !== head)
      return result({ ...place, message: `event ${seq} differs from its signed checkpoint` }, signedBy);
    if (!(await crypto.verify(key, signature, checkpointText(store, run, checkpoint))))
      return result({ ...place, message: `the signature of the checkpoint at event ${seq} does not hold` }, signedBy);
    signedBy.push({ seq, key });
  }
  return result(null, signedBy);
}
