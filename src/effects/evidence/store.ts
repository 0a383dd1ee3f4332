/**
 * Writes the evidence of a session to `EvidenceStore.Path`: one node for each recorded call, and the verdict of each gate.
 * The file is for people and tools that read it; gates read the journal.
 */
import type { Json } from '../../expr/json.ts';
import type { Call } from '../../runtime/ports.ts';
import { writeBeneath } from '../safe-path.ts';
import type { Evidence, Observation } from './evidence.ts';
import { commandsOf, succeeded } from './records.ts';

const OUTPUT_MAX = 4_096;
const TYPES: { readonly [tool: string]: string } = {
  write_file: 'FileWrite',
  patch_file: 'FileWrite',
  delete_file: 'FileDelete',
  shell_run: 'CommandRun',
  git_commit: 'GitCommit',
};

export async function storeEvidence(
  evidence: Evidence,
  { command }: Call,
  workDir: string,
  gate: { readonly which: string; readonly verdict: Json },
): Promise<void> {
  const path = evidence.config['EvidenceStore'];
  if (typeof path !== 'string' || path === '') return;
  const nodes = evidence.observations.flatMap((each) => nodeOf(each, command.run));
  const store = {
    ActiveSessionId: command.run,
    Nodes: nodes,
    Edges: [],
    LastGate: { Name: gate.which, Verdict: gate.verdict },
  };
  await writeBeneath(workDir, path, Buffer.from(`${JSON.stringify(store, null, 2)}\n`));
}

function nodeOf(observation: Observation, run: string): Json[] {
  const { id, tool, agent, turn, args } = observation;
  const type = TYPES[tool];
  if (type === undefined) return [];
  const base = { Id: id, NodeType: type, Agent: agent, Turn: turn, SessionId: run, Succeeded: succeeded(observation) };
  const [ran] = commandsOf([observation]);
  return [
    ran === undefined
      ? { ...base, Path: args['path'] ?? null }
      : { ...base, Command: ran.command, Output: ran.output.slice(0, OUTPUT_MAX) },
  ];
}
