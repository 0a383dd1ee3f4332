/** One team of four in three strategies, with the same gates. */
import type { Repo } from './repos.ts';

export const STRATEGIES = ['keyword', 'graph', 'statemachine'] as const;
export type Strategy = (typeof STRATEGIES)[number];

export const AGENTS = ['Planner', 'Developer', 'Tester', 'Reviewer'] as const;
export type Role = (typeof AGENTS)[number];

/** The keyword with which the role hands on, and those that it may use besides. */
export const WORDS: { readonly [role in Role]: readonly [string, ...string[]] } = {
  Planner: ['HANDOFF TO DEVELOPER'],
  Developer: ['HANDOFF TO TESTER'],
  Tester: ['HANDOFF TO REVIEWER', 'BUGS FOUND'],
  Reviewer: ['APPROVED', 'REVISION REQUIRED'],
};

/** `lax`: the developer only has to write a file. */
export function teamOf(strategy: Strategy, repo: Repo, lax = false): object {
  const Agents = AGENTS.map((Name) => ({ Name, Plugins: ['FileSystem', 'Shell', 'Handoff'] }));
  return { Agents, FailureHandling: { Threshold: 5 }, ...SELECTIONS[strategy](lax ? { ...repo, command: '' } : repo) };
}

const SELECTIONS: { readonly [strategy in Strategy]: (repo: Repo) => object } = {
  keyword: ({ command }) => ({
    Selection: {
      Type: 'keyword',
      DefaultAgent: 'Planner',
      OnNoKeyword: 'author',
      Routes: [
        { Keyword: 'HANDOFF TO DEVELOPER', Agent: 'Developer', SourceAgents: ['Planner'], Validator: 'RequireBrief' },
        { ...built(command), Keyword: 'HANDOFF TO TESTER', Agent: 'Tester', SourceAgents: ['Developer'] },
        { Keyword: 'HANDOFF TO REVIEWER', Agent: 'Reviewer', SourceAgents: ['Tester'], Validator: 'TestReportValid' },
        { Keyword: 'BUGS FOUND', Agent: 'Developer', SourceAgents: ['Tester'] },
        { Keyword: 'REVISION REQUIRED', Agent: 'Developer', SourceAgents: ['Reviewer'] },
        { Keyword: 'APPROVED', Agent: 'Reviewer', SourceAgents: ['Reviewer'], Validators: JUDGED },
      ],
    },
    Termination: { Type: 'maxiterations', MaxIterations: 40 },
  }),
  graph: ({ command }) => ({
    Selection: {
      Type: 'graph',
      Graph: {
        EntryNode: 'plan',
        Nodes: [
          { Id: 'plan', Agent: 'Planner' },
          { Id: 'build', Agent: 'Developer' },
          { Id: 'test', Agent: 'Tester' },
          { Id: 'review', Agent: 'Reviewer' },
          { Id: 'end', Agent: 'Planner', Terminal: true },
        ],
        Edges: [
          { From: 'plan', To: 'build', Keyword: 'HANDOFF TO DEVELOPER', Validators: ['RequireBrief'] },
          { ...built(command), From: 'build', To: 'test', Keyword: 'HANDOFF TO TESTER' },
          { From: 'test', To: 'review', Keyword: 'HANDOFF TO REVIEWER', Validators: ['TestReportValid'] },
          { From: 'test', To: 'build', Keyword: 'BUGS FOUND' },
          { From: 'review', To: 'build', Keyword: 'REVISION REQUIRED' },
          { From: 'review', To: 'end', Keyword: 'APPROVED', Validators: JUDGED },
        ],
      },
    },
    Termination: { Type: 'maxiterations', MaxIterations: 40 },
  }),
  statemachine: ({ command }) => ({
    Contracts: [
      { Name: 'Planned', Requires: [{ BriefComplete: {} }] },
      {
        Name: 'Built',
        Requires: [{ FilesWritten: { Source: 'brief', Field: 'files_to_change' } }, ...succeeded(command)],
      },
      { Name: 'Tested', Requires: [{ TestReport: { HasAssertions: true } }, ...succeeded(command)] },
    ],
    Selection: {
      Type: 'statemachine',
      StateMachine: {
        Initial: 'Planning',
        States: {
          Planning: {
            Agent: 'Planner',
            Transitions: [{ To: 'Building', Signal: 'HANDOFF TO DEVELOPER', Contract: 'Planned' }],
          },
          Building: {
            Agent: 'Developer',
            Transitions: [{ To: 'Testing', Signal: 'HANDOFF TO TESTER', Contract: 'Built' }],
          },
          Testing: {
            Agent: 'Tester',
            Transitions: [
              { To: 'Review', Signal: 'HANDOFF TO REVIEWER', Contract: 'Tested' },
              { To: 'Building', Signal: 'BUGS FOUND' },
            ],
          },
          Review: {
            Agent: 'Reviewer',
            Transitions: [
              { To: 'Done', Signal: 'APPROVED', Contract: 'Tested' },
              { To: 'Building', Signal: 'REVISION REQUIRED' },
            ],
          },
          Done: { Agent: 'Reviewer', Terminal: true },
        },
      },
    },
    Termination: {
      Type: 'composite',
      Strategies: [
        { Type: 'regex', Pattern: '^SUMMARY', AgentNames: ['Reviewer'] },
        { Type: 'maxiterations', MaxIterations: 40 },
      ],
    },
  }),
};

const JUDGED = ['RequireShellPass', 'RequireReviewJudgement'];

function succeeded(command: string): object[] {
  return command === '' ? [] : [{ CommandSucceeded: { Pattern: command } }];
}

function built(command: string): object {
  if (command === '') return { Validators: ['RequireWriteFile'] };
  return {
    Validators: ['RequireWriteFile', 'RequireAllFilesWritten', 'RequireShellPass'],
    RequiredCommandPattern: command,
  };
}
