/** What each call of a model or a tool was sent, and what came back. */
import type { RunEvent } from '@sluice-internal/wire';
import { harmless } from '@sluice-internal/wire';
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { callQuery } from '../data/server.ts';
import { useParameter, useParameters } from '../data/url.ts';
import { pretty, short } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { Button, Empty, Loading, Problem, Value } from '../ui/parts.tsx';
import { Rows } from '../ui/rows.tsx';
import { useRun } from './context.tsx';

interface Listed {
  readonly call: string;
  readonly kind: 'model' | 'tool';
  readonly name: string;
  readonly node: string;
  readonly seq: number;
}

/** In the order in which they were made. */
export function callsIn(events: readonly RunEvent[]): readonly Listed[] {
  const found = new Map<string, Listed>();
  for (const event of events) {
    const { call } = event as { readonly call?: string };
    if (call === undefined || found.has(call)) continue;
    if (event.type === 'model.started')
      found.set(call, { call, kind: 'model', name: event.agent, node: event.node, seq: event.seq });
    if (event.type === 'tool.started')
      found.set(call, { call, kind: 'tool', name: event.tool, node: event.node, seq: event.seq });
  }
  return [...found.values()];
}

export function PromptsPanel(): ReactElement {
  const { events, at, node } = useRun();
  const call = useParameter('call');
  const set = useParameters();
  const calls = callsIn(events).filter(({ seq, node: of }) => seq <= at && (node === undefined || of === node));
  if (call !== undefined) return <OneCall call={call} onBack={() => set({ call: undefined })} />;
  if (calls.length === 0) return <Empty icon="agent" title="No call yet" />;
  return (
    <Rows
      label="Calls"
      items={calls}
      keyOf={(each) => each.call}
      height={40}
      render={(each) => (
        <button type="button" className="call-line" onClick={() => set({ call: each.call })}>
          <Icon name={each.kind === 'model' ? 'agent' : 'tool'} className="text-3" />
          <strong className="ellipsis">{harmless(each.name)}</strong>
          <span className="text-2 ellipsis grow">{harmless(each.node)}</span>
          <span className="text-3 num">event {each.seq}</span>
        </button>
      )}
    />
  );
}

interface Call {
  readonly kind: 'model' | 'tool';
  readonly name: string;
  readonly node: string;
  readonly seq: number;
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[] | null;
  readonly args: unknown;
  readonly attempts: readonly {
    readonly attempt: number;
    readonly ok: boolean;
    readonly used: { readonly inputTokens?: number; readonly outputTokens?: number };
    readonly error: { readonly type: string; readonly message: string | null } | null;
    readonly result: unknown;
  }[];
}

function OneCall({ call, onBack }: { readonly call: string; readonly onBack: () => void }): ReactElement {
  const { report } = useRun();
  const { data, error, refetch } = useQuery(callQuery<Call>(report.run, call));
  if (data === undefined)
    return error === null ? <Loading what="the call" /> : <Problem error={error} onRetry={() => void refetch()} />;
  const { kind, name, node, seq, prompt, args, attempts } = data;
  return (
    <div className="call">
      <header>
        <Button kind="quiet" icon="left" aria-label="All calls" onClick={onBack} />
        <Icon name={kind === 'model' ? 'agent' : 'tool'} className="text-3" />
        <h2 className="ellipsis">{harmless(name)}</h2>
        <span className="text-2">
          {harmless(node)} · event {seq}
        </span>
      </header>
      {prompt?.map(({ role, content }, at) => (
        <Message key={at} from={role} content={content} />
      ))}
      {prompt === null && args !== null && args !== undefined && <Message from="arguments" content={args} />}
      {prompt === null && (args === null || args === undefined) && (
        <p className="text-2">You may not see what was sent.</p>
      )}
      {attempts.map(({ attempt, ok, used, error: failed, result }) => (
        <div key={attempt} className={`message ${ok ? 'is-reply' : 'is-bad'}`}>
          <p className="label">
            {ok ? (kind === 'model' ? 'reply' : 'result') : 'failed'}
            {attempts.length > 1 && `, attempt ${attempt}`}
            {used.inputTokens !== undefined && (
              <span className="num">
                {' '}
                · {short(used.inputTokens)} tokens in, {short(used.outputTokens ?? 0)} out
              </span>
            )}
          </p>
          {failed !== null && (
            <p className="ink-failed">
              {harmless(failed.type)}: {harmless(failed.message ?? '')}
            </p>
          )}
          {result !== null && result !== undefined && <Value text={replyText(result)} />}
        </div>
      ))}
    </div>
  );
}

function Message({ from, content }: { readonly from: string; readonly content: unknown }): ReactElement {
  return (
    <div className="message">
      <p className="label">{harmless(from)}</p>
      <Value text={contentText(content)} />
    </div>
  );
}

/** The parts of a message, one after the other. */
function contentText(content: unknown): string {
  if (!Array.isArray(content)) return pretty(content);
  return content.map((part: unknown) => (isText(part) ? part.text : pretty(part))).join('\n\n');
}

function isText(part: unknown): part is { readonly text: string } {
  return typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string';
}

function replyText(result: unknown): string {
  return isText(result) && Object.keys(result).length === 1 ? result.text : pretty(result);
}
