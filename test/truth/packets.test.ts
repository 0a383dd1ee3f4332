/** A packet has all that a person needs in order to decide, as data. */
import { expect } from 'vitest';
import type { Waiting } from '@sluice-internal/library';
import { hold } from './cases.ts';
import type { Case } from './cases.ts';
import { play } from './play.ts';

interface Packet {
  readonly effects: readonly Effect[];
  readonly evidence: readonly { readonly trusted: boolean; readonly value: unknown }[];
  readonly why: { readonly rule: string | null };
  readonly repeats: readonly unknown[];
  readonly expires: unknown;
}

interface Effect {
  readonly tool: string;
  readonly sources: readonly { readonly path: string }[];
}

interface OfPackets {
  readonly message?: string;
  /** A part of the packet. A list in it is complete. */
  readonly packet?: object;
  /** Effects that are among those of the packet. */
  readonly some_effects?: readonly object[];
  /** Where an argument of a tool comes from. */
  readonly source?: { readonly tool: string; readonly path: string };
  /** An observation that is among the evidence. */
  readonly evidence?: object;
  readonly repeats?: number;
  /** The question expires. */
  readonly expires?: boolean;
  /** The packet names the rule that asks. */
  readonly rule?: boolean;
  /** Texts that are anywhere in the packet. */
  readonly says?: readonly string[];
  /** Keys that are gone. */
  readonly gone?: readonly string[];
}

/** Every packet has all of these keys. */
const KEYS = ['question', 'goal', 'user', 'effects', 'why', 'evidence', 'repeats', 'left', 'expires', 'onExpiry'];

hold<OfPackets>('a packet', 'packets.yaml', ask);

async function ask(each: Case<OfPackets>): Promise<void> {
  const { report } = await play(each);
  expect(report.state).toBe('suspended');
  expect(report.waiting).toHaveLength(1);
  expectPacket(each, report.waiting[0] as Waiting);
}

function expectPacket({ expect: wanted }: Case<OfPackets>, waiting: Waiting): void {
  const packet = waiting.packet as unknown as Packet;
  expect(Object.keys(packet)).toEqual(expect.arrayContaining(KEYS));
  if (wanted.message !== undefined) expect(waiting.message).toBe(wanted.message);
  if (wanted.packet !== undefined) expect(packet).toMatchObject(wanted.packet);
  for (const effect of wanted.some_effects ?? [])
    expect(packet.effects).toContainEqual(expect.objectContaining(effect));
  if (wanted.source !== undefined) expectSource(packet, wanted.source);
  if (wanted.evidence !== undefined)
    expect(
      packet.evidence.some((each) => holds(each, wanted.evidence as object)),
      JSON.stringify(packet.evidence),
    ).toBe(true);
  if (wanted.repeats !== undefined) expect(packet.repeats).toHaveLength(wanted.repeats);
  if (wanted.expires === true) expect(packet.expires).not.toBeNull();
  if (wanted.rule === true) expect(packet.why.rule).toEqual(expect.any(String));
  for (const text of wanted.says ?? []) expect(JSON.stringify(packet)).toContain(text);
  for (const key of wanted.gone ?? []) expect(Object.keys(packet)).not.toContain(key);
}

function expectSource({ effects }: Packet, { tool, ...source }: NonNullable<OfPackets['source']>): void {
  const sources = effects.filter((effect) => effect.tool === tool).flatMap((effect) => effect.sources);
  expect(sources).toContainEqual(expect.objectContaining(source));
}

function holds(value: object, part: object): boolean {
  try {
    expect(value).toMatchObject(part);
    return true;
  } catch {
    return false;
  }
}
