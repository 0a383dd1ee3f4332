/** The messages of a model call as the provider gets them: with its names of the tools, and with the files beside the text. */
import { attachmentIds } from '@sluice-internal/kernel/ir';
import type { Command, CompiledFlow, RunId } from '@sluice-internal/kernel/ir';
import type { AttachmentStore } from '@sluice-internal/engine/ports';
import { promptOf } from '@sluice-internal/platform';
import type { Message } from '@sluice-internal/platform';
import { offerTools } from './tool-names.ts';

/** A file beside the text of a message. A file of the input that was deleted has no type. */
interface SentFile {
  readonly attachment: string;
  readonly state: 'stored' | 'erased' | 'missing';
  readonly name?: string;
  readonly mediaType?: string;
  readonly bytes?: number;
}
export interface SentMessage extends Message {
  readonly files?: readonly SentFile[];
}

export interface FileOptions {
  /** The stored ones, by id. */
  readonly stored: StoredFiles;
  /** The attachments that came with the input. */
  readonly expected: readonly string[];
  readonly erased: boolean;
}

/** What a prompt shows of attachments, without their data. */
export type StoredFiles = ReadonlyMap<
  string,
  { readonly name: string; readonly mediaType: string; readonly bytes: number }
>;

export async function storedFiles(store: AttachmentStore, run: RunId): Promise<StoredFiles> {
  const files = new Map<string, { name: string; mediaType: string; bytes: number }>();
  for (const id of await store.list(run)) {
    const found = await store.find(run, id);
    if (found !== null) files.set(id, { name: found.name, mediaType: found.mediaType, bytes: found.data.length });
  }
  return files;
}

export function sentMessages(
  flow: CompiledFlow,
  command: Pick<Command, 'name' | 'input'>,
  { stored, expected, erased }: FileOptions,
): SentMessage[] {
  const agent = flow.agents[command.name];
  const offer = agent === undefined ? undefined : offerTools(flow, agent);
  const seen = new Set<string>();
  const filesIn = (text: string): SentFile[] =>
    attachmentIds(text).flatMap((attachment): SentFile[] => {
      if (seen.has(attachment)) return [];
      seen.add(attachment);
      const found = stored.get(attachment);
      if (found === undefined)
        return expected.includes(attachment) ? [{ attachment, state: erased ? 'erased' : 'missing' }] : [];
      return [{ attachment, state: 'stored', ...found }];
    });
  return promptOf(flow, command).map((message) => {
    const { role, content, toolCalls, name } = message;
    const files = role === 'user' || role === 'tool' ? filesIn(content) : [];
    return {
      ...message,
      content: role === 'assistant' || offer === undefined ? content : offer.renamed(role, content),
      ...(toolCalls === undefined || offer === undefined
        ? {}
        : { toolCalls: toolCalls.map((call) => ({ ...call, name: offer.sent(call.name) })) }),
      ...(name === undefined || offer === undefined ? {} : { name: offer.sent(name) }),
      ...(files.length === 0 ? {} : { files }),
    };
  });
}
