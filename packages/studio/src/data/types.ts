/** What the server answers, as far as the page reads it. */
import type { Question, RunRow } from '@sluice-internal/client';
import type { RunView } from '@sluice-internal/wire';

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

export type Access = 'viewer' | 'operator' | 'approver' | 'admin';

export interface Me {
  readonly name: string;
  readonly person: string | null;
  readonly tenant: string | null;
  readonly access: readonly Access[];
  /** May see prompts, arguments and results. */
  readonly content: boolean;
  readonly expiresAt: string | null;
  readonly version: string;
}

export interface Session {
  readonly me: Me | null;
  readonly login: { readonly issuer: string; readonly client: string; readonly authorization: string } | null;
}

/** A run as lists show it. */
export interface ListedRun extends RunRow {
  readonly status: RunStatus;
  readonly parent: string | null;
  readonly events: number | null;
  readonly steps?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly questions?: number;
  readonly node?: string | null;
  readonly error?: { readonly type: string; readonly message: string } | null;
  readonly user?: string | null;
}

export type RunStatus = 'pending' | 'running' | 'suspended' | 'completed' | 'failed' | 'cancelled';

export interface Receipt {
  readonly seq: number;
  readonly tool: string;
  readonly effect: string;
  readonly args?: unknown;
  readonly result?: unknown;
  readonly status: 'committed' | 'compensated' | 'unknown';
  readonly approvedBy?: string | null;
  readonly inherited?: true;
}

export interface RunReport {
  readonly run: string;
  readonly flow: string;
  readonly state: RunStatus;
  readonly code: string | null;
  readonly output: unknown;
  readonly path: readonly string[];
  readonly error: { readonly type: string; readonly message: string; readonly node: string } | null;
  readonly usage: { readonly [measure: string]: number };
  readonly hash: string;
  readonly startedAt?: string;
  readonly endedAt?: string | null;
  readonly parent?: { readonly run: string; readonly seq: number };
  readonly receipts: readonly Receipt[];
  readonly waiting: readonly OpenQuestion[];
  readonly changed: boolean;
  readonly verdict?: { readonly by: string; readonly ok: boolean | null; readonly problem: string | null };
  readonly failure?: {
    readonly about: string;
    readonly name: string | null;
    readonly node: string | null;
    readonly seq: number | null;
    readonly why: string;
  } | null;
  readonly losses?: readonly { readonly node: string; readonly item: number | null; readonly why: string }[];
}

/** An effect that a yes makes possible. */
export interface PacketEffect {
  readonly node: string;
  readonly tool: string;
  readonly effect: string;
  readonly args: unknown;
  readonly amount: number | null;
  readonly recipients: readonly string[];
  readonly payee: string | null;
  readonly reversible: boolean;
  readonly undo: string | null;
  readonly certain: boolean;
  readonly times: { readonly most: number | null };
  readonly costUsd: number | null;
  readonly sources: readonly { readonly path: string; readonly from: string; readonly trusted: boolean }[];
}

/** What a person needs to decide. */
export interface Packet {
  readonly question: string;
  readonly goal: string | null;
  readonly user: string | null;
  readonly effects: readonly PacketEffect[];
  readonly why: {
    readonly rule: string | null;
    readonly words: string | null;
    readonly problem: string | null;
    readonly confidence: number | null;
  };
  readonly evidence: readonly { readonly from: string; readonly trusted: boolean; readonly value: unknown }[];
  readonly repeats: readonly unknown[];
  readonly left: { readonly [measure: string]: number };
  readonly expires: string | null;
  readonly onExpiry: string;
}

/** An open question with all that a person reads before an answer. */
export interface OpenQuestion extends Question {
  readonly node: string;
  readonly kind: string;
  readonly packet: Question['packet'] & Packet;
  readonly data: { readonly [field: string]: unknown };
  /** The choices that come with data, with text, or with one of the two. */
  readonly needs: { readonly [choice: string]: 'edit' | 'text' | 'either' };
  readonly askedAt: string;
  readonly askedBy: string;
  readonly expiresAt: string | null;
  readonly onExpiry: string;
  readonly tenant: string | null;
  readonly store: string | null;
  readonly quorum: number;
}

export interface FlowRow {
  readonly id: string;
  readonly file: string;
  readonly hash: string | null;
  readonly notation: string | null;
  readonly ok: boolean;
  readonly versions: readonly string[];
}

export type ShapeKind = 'start' | 'end' | 'agent' | 'tool' | 'decision' | 'approval' | 'parallel' | 'join' | 'terminal';

export interface PlacedNode {
  readonly id: string;
  readonly kind: ShapeKind;
  readonly label: string;
  readonly detail: string | null;
  readonly description: string | null;
  readonly tools?: readonly string[];
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
  readonly frame: string | null;
}

export interface PlacedEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: 'route' | 'error' | 'branch' | 'join' | 'over';
  readonly back: boolean;
  /** What is written at the edge, around its middle. */
  readonly label: {
    readonly x: number;
    readonly y: number;
    readonly lines: readonly string[];
    readonly guards: readonly string[];
    readonly bound: string | null;
  } | null;
  /** Path data of SVG: the line, and its arrow head. */
  readonly path: string;
  readonly tip: string;
}

/** The picture of a flow with places. */
export interface PlacedPicture {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
  readonly title: string;
  readonly notation: string;
}

/** The view of a run at an event, with its slots. */
export interface RunState extends RunView {
  readonly slots: { readonly [slot: string]: Slot | undefined };
}

export interface Slot {
  readonly writtenBy: string | null;
  readonly seq: number;
  readonly value: unknown;
}
