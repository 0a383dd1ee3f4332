/** What the routes work with. A route reaches runs through `view` alone, so that none can forget a tenant. */
import type { AttachmentStore, EngineView } from '@sluice-internal/library';
import type { Erased } from '@sluice-internal/library/host';
import type { Store } from '@sluice-internal/engine/ports';
import type { Limits, Rates, Streams } from './limits.ts';
import type { Flows, Served } from './folder.ts';
import type { Oidc } from '../auth/oidc.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { Tokens } from '../auth/tokens.ts';
import type { Callers } from '../auth/callers.ts';
import type { Who } from '../auth/who.ts';
import type { Uploads } from './uploads.ts';

export interface Services {
  /** The engine as a caller sees it. With a script, the engine that plays it. */
  view(who: Who, script?: string): Promise<EngineView>;
  /** The engine that continues a run: one with the script of the run, if it has one. */
  viewOf(who: Who, run: string): Promise<EngineView>;
  /** For what a run says about itself: its audit, its export. A route asks `view` for the run first. */
  readonly store: Store;
  readonly attachments: AttachmentStore;
  readonly uploads: Uploads;
  /** Deletes the personal data of a run. Null: the data does not lie beside a database of the server. */
  readonly erase: ((run: string, by: string) => Promise<Erased>) | null;
  readonly counters: { readonly requests: Map<number, number> };
  readonly folder: Flows;
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly oidc: Oidc | null;
  readonly limits: Limits;
  readonly rates: Rates;
  readonly streams: Streams;
  readonly callers: Pick<Callers, 'of' | 'ofSecret' | 'holds'>;
  /** The starts in progress, by run. */
  readonly turns: Map<string, Promise<unknown>>;
  /** When the disk was full last. */
  readonly health: { fullAt: number };
  /** The page listens on this machine only, so files and scripts may be named. */
  readonly isLocal: boolean;
  /** Replaces the text of a document. Absent unless this is `sluice dev`. */
  readonly write?: ((served: Served, text: string) => Promise<void>) | undefined;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
  readonly cookie: string;
}
