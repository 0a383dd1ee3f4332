/**
 * Images and files for the inputs of runs that start later. They lie with the attachments of runs, each tenant's apart, for a day at least:
 * a run that starts with one gets its own.
 */
import { isRecord, type Json } from '@sluice-internal/kernel/expr';
import { update } from '@sluice-internal/engine/ports';
import type { Store, StoredAttachment } from '@sluice-internal/engine/ports';
import { attachment, type AttachmentStore, type RunInput } from '@sluice-internal/library';
import { AttachmentError, readAttachment } from '@sluice-internal/tools/calls';
import { hash } from 'node:crypto';
import { Refusal } from './problem.ts';

export const UPLOAD_ID = /^sha256-[0-9a-f]{64}$/;

const KEY = 'server.uploads';
const DAY_MS = 86_400_000;
/** Of one tenant within two days. */
const UPLOADS_MAX = 200;

type Reference = Awaited<ReturnType<typeof readAttachment>>['ref'];

export class Uploads {
  readonly #attachments: AttachmentStore;
  readonly #shared: Store['shared'];

  constructor(attachments: AttachmentStore, { shared }: Pick<Store, 'shared'>) {
    this.#attachments = attachments;
    this.#shared = shared;
  }

  /** Throws if the data is of no kind that models take, or has another hash than its name says. */
  async add(tenant: string | null, id: string, data: Uint8Array, mediaType: string | undefined): Promise<Reference> {
    const source = { data, name: 'attachment', ...(mediaType === undefined ? {} : { mediaType }) };
    const { stored, ref } = await readAttachment(source, 'input', { folders: undefined }).catch((error: unknown) => {
      throw error instanceof AttachmentError ? new Refusal('bad-attachment', error.message) : error;
    });
    if (stored.id !== id)
      throw new Refusal('bad-attachment', `the data has the hash ${stored.id}`, { help: 'PUT it under this name.' });
    const [bucket = '', before = ''] = bucketsOf(tenant);
    const known = [await this.#attachments.list(bucket), await this.#attachments.list(before)].flat();
    if (known.length >= UPLOADS_MAX)
      throw new Refusal('too-many-requests', `there are ${UPLOADS_MAX} attachments that were uploaded in two days`);
    await this.#note(bucket);
    await this.#attachments.add(bucket, stored);
    return ref;
  }

  async find(tenant: string | null, id: string): Promise<StoredAttachment | null> {
    for (const bucket of bucketsOf(tenant)) {
      const found = await this.#attachments.find(bucket, id);
      if (found !== null) return found;
    }
    return null;
  }

  /** The days are listed, so that old ones are found and erased. */
  async #note(bucket: string): Promise<void> {
    const today = Math.floor(Date.now() / DAY_MS);
    const old = await update(this.#shared, KEY, (value) => {
      const known = Array.isArray(value) ? value.map(String) : [];
      const isOld = (each: string): boolean => Number(each.split(':').at(-1)) < today - 1;
      const kept = known.filter((each) => !isOld(each));
      return [[...new Set([...kept, bucket])], known.filter(isOld)];
    });
    for (const each of old) await this.#attachments.erase(each);
  }
}

/** Those of today and of yesterday. No run has such an id. */
function bucketsOf(tenant: string | null): readonly string[] {
  const today = Math.floor(Date.now() / DAY_MS);
  const whose = hash('sha256', JSON.stringify(tenant), 'hex').slice(0, 32);
  return [today, today - 1].map((day) => `upload:${whose}:${day}`);
}

/**
 * The input with the uploads that it names as `{ "attachment": "sha256-…" }`. `check` sees it with their references in place, and what it
 * returns is the input.
 */
export async function withUploads(
  uploads: Uploads,
  tenant: string | null,
  input: Json,
  check: (input: Json) => Promise<Json>,
): Promise<RunInput> {
  const named = new Map<string, StoredAttachment>();
  const referred = await replaced(input, async (value) => {
    const { attachment: id, name = 'attachment', ...others } = value;
    if (typeof id !== 'string' || !UPLOAD_ID.test(id) || typeof name !== 'string' || Object.keys(others).length > 0)
      return undefined;
    const found = await uploads.find(tenant, id);
    if (found === null)
      throw new Refusal('bad-attachment', `there is no attachment \`${id}\``, {
        help: 'PUT it to /v1/attachments first.',
      });
    named.set(id, found);
    const { ref } = await readAttachment({ data: found.data, name }, 'input', { folders: undefined });
    return { ...ref };
  });
  const checked = await check(referred);
  if (named.size === 0) return checked;
  return replaced(checked, async ({ attachment: id, name, bytes }) => {
    const found = typeof id === 'string' && typeof bytes === 'number' ? named.get(id) : undefined;
    if (found === undefined) return undefined;
    return attachment({ data: found.data, name: String(name) }) as unknown as Json;
  });
}

type Part = { readonly [field: string]: Json };

/** Each object for which there is another value. */
async function replaced(value: Json, other: (part: Part) => Promise<Json | undefined>): Promise<Json> {
  if (Array.isArray(value)) {
    const parts: Json[] = [];
    for (const each of value as readonly Json[]) parts.push(await replaced(each, other));
    return parts;
  }
  if (!isRecord(value)) return value;
  const instead = await other(value);
  if (instead !== undefined) return instead;
  const entries: [string, Json][] = [];
  for (const [key, each] of Object.entries(value)) entries.push([key, await replaced(each, other)]);
  return Object.fromEntries(entries);
}
