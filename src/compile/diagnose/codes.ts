/**
 * Every code that the compiler may report. The set is closed: a diagnostic cannot carry any other, and each has a page at
 * docs/errors/<code>.md, which a test checks in both directions.
 */
export interface CodeEntry {
  readonly title: string;
  readonly summary: string;
}

export const DIAGNOSTIC_CODES = {
  // The text
  'empty-document': { title: 'The document is empty', summary: 'There is nothing in it to compile.' },
  'syntax-error': {
    title: 'Not valid YAML or JSON',
    summary: 'The text breaks a rule of YAML, so its structure is unknown.',
  },
  'duplicate-key': { title: 'A key is given twice', summary: 'One map holds the same key more than once.' },
  'bad-key': { title: 'A key that cannot be used', summary: 'A key is not text, or is a name that objects reserve.' },
  'not-json': {
    title: 'A value that JSON cannot hold',
    summary: 'Infinity, a number with too many digits, a function or a similar value.',
  },
  'unknown-alias': {
    title: 'An alias without an anchor',
    summary: 'A YAML alias names no earlier anchor, or contains itself.',
  },
  'too-many-aliases': {
    title: 'Aliases expand too far',
    summary: 'The aliases of the document would expand to too many values.',
  },
  'too-deep': { title: 'Nested too deeply', summary: 'Lists and maps are nested too deeply.' },
  'too-large': { title: 'The document is too large', summary: 'The text is too long.' },

  // Shapes
  'unknown-key': { title: 'An unknown key', summary: 'A map has a key that is not known there.' },
  'missing-field': { title: 'A required field is missing', summary: 'A map lacks a key that it needs.' },
  'wrong-type': { title: 'A value of the wrong type', summary: 'The value has another type than its key needs.' },
  'bad-value': {
    title: 'A value that is not allowed',
    summary: 'The type is right, but the value is not one that is allowed.',
  },
  'unchecked-criteria': {
    title: 'A criterion that nothing checks',
    summary: 'A criterion in words needs a verifier; without one the run ends PARTIAL_SUCCESS at best.',
  },
  'bad-schema': { title: 'Not a valid JSON Schema', summary: 'A schema in the document breaks JSON Schema 2020-12.' },

  // Which notation
  'no-notation': {
    title: 'No notation in the document',
    summary: 'The document has no flow, workflow, team or loop to run.',
  },
  'several-notations': {
    title: 'More than one notation',
    summary: 'The document describes what to run in two notations.',
  },
  'unknown-notation': { title: 'A misspelt notation', summary: 'A top-level key resembles a notation.' },
  'bad-version': {
    title: 'An unknown version',
    summary: '`sluice:` names a version of the notation that this release does not read.',
  },

  // Names
  'duplicate-id': { title: 'An id is used twice', summary: 'Two agents, nodes or steps have the same id.' },
  'reserved-id': { title: 'A reserved id', summary: 'The id is a word that the notation uses itself.' },
  'unknown-agent': {
    title: 'An unknown agent',
    summary: 'A node or step names an agent that the document does not declare.',
  },
  'unknown-tool': {
    title: 'An unknown tool',
    summary: 'A tool is named that neither `tools` nor an MCP server declares.',
  },
  'unknown-model': {
    title: 'An unknown model',
    summary: 'An agent names a model alias that `models` does not declare.',
  },
  'unknown-provider': {
    title: 'A provider that is probably misspelt',
    summary: 'A model names an unknown provider that resembles a known one.',
  },
  'unknown-server': {
    title: 'An unknown MCP server',
    summary: 'A tool names an MCP server that `mcp` does not declare.',
  },
  'unknown-target': {
    title: 'An unknown target',
    summary: 'A route, branch or error route leads to a node that does not exist.',
  },
  'unknown-entry': {
    title: 'The entry does not exist',
    summary: 'The flow starts at a node that it does not declare.',
  },
  'unknown-choice': {
    title: 'A choice that is not offered',
    summary: 'A choice is named that the approval does not list.',
  },
  'unknown-flow': {
    title: 'An unknown flow',
    summary: 'A `flow` node names neither an id of `flows` nor a file that can be read.',
  },
  'recursive-flow': {
    title: 'A flow that calls itself',
    summary: 'A sub-flow calls a flow that calls it, directly or through others.',
  },
  'tool-conflict': {
    title: 'Two different tools of one name',
    summary: 'A sub-flow declares a tool or a server otherwise than the flow that calls it.',
  },
  'join-target-in-branch': {
    title: 'A branch that runs on past the join',
    summary: 'A branch leads to the node that follows the join, so that node runs several times.',
  },
  'impatient-join': {
    title: 'A wait for a person under a short join',
    summary: 'An approval or a signal is inside a parallel node whose join has the default timeout of 60 s.',
  },
  'no-effect': {
    title: 'A key without effect',
    summary: 'The key belongs to another system and changes nothing here.',
  },
  'map-in-itself': {
    title: 'A map inside its own path',
    summary: 'The path that a map runs for each item leads back to the map.',
  },
  'unclear-expiry': {
    title: 'A timeout that no choice answers',
    summary: 'An approval has a timeout, but neither `on_timeout` nor the choice `reject`.',
  },
  'silence-approves': {
    title: 'Silence that approves',
    summary: 'An approval that nobody answers in time counts as its first choice.',
  },
  'people-twice': {
    title: 'People are declared twice',
    summary: 'The document has `people`, and `sluice.people.yaml` lies beside it.',
  },
  'unknown-approver': {
    title: 'An unknown approver',
    summary: '`approvers` names a person or a role that `people` does not declare.',
  },
  'quorum-too-large': {
    title: 'A quorum that cannot be met',
    summary: 'More people must agree than can approve.',
  },
  'nobody-approves': {
    title: 'Nobody is declared to approve',
    summary: 'A tool has serious effects, and no `people` are declared: nobody checks who approves.',
  },
  'unknown-name': { title: 'An unknown name', summary: 'An expression reads a name that never has a value.' },
  'unknown-variable': {
    title: 'An unknown variable',
    summary: 'A template names a variable that no earlier step writes.',
  },
  'duplicate-variable': {
    title: 'Two steps store one variable',
    summary: 'A later step overwrites the variable of an earlier one.',
  },

  // Tools and agents
  'incomplete-tool': {
    title: 'A tool with missing rules',
    summary: 'A tool that is used has no schema, limit or check.',
  },
  'unlocked-server': {
    title: 'The tools of an MCP server are not known',
    summary: '`server.*` grants tools that only a lock file or the running server can name.',
  },
  'undeclared-effect': {
    title: 'A tool of an MCP server without an effect',
    summary: 'The document does not say what a call of the tool does, so it counts as a write.',
  },
  'several-implementations': {
    title: 'A tool with two implementations',
    summary: 'A tool has more than one implementation.',
  },
  'bad-policy': {
    title: 'A policy that does not fit the tools',
    summary: 'A policy cannot be parsed, or names a tool, an argument or a group that does not exist.',
  },
  'policy-permits-nothing': {
    title: 'Policies that permit nothing',
    summary: 'No policy permits anything, so every call is denied.',
  },
  'not-granted': {
    title: 'A decision that an agent may not make',
    summary: 'The boundary of an agent withholds a decision that its role needs.',
  },
  'simpler-tier': {
    title: 'More autonomy than needed',
    summary: 'A simpler and more predictable form can do the same.',
  },
  'missing-price': {
    title: 'A cost limit without a price',
    summary: 'Money is limited, but the price of a model is not known.',
  },
  'not-supported': {
    title: 'A key of another system that has no meaning here',
    summary: 'The document asks for something that cannot be enforced as it is written.',
  },
  swarm: {
    title: 'A swarm',
    summary: 'Members of a swarm start further members, so models decide how much the run costs.',
  },
  'no-compensation': {
    title: 'An effect that cannot be undone',
    summary: 'A tool changes something, and no tool is declared that undoes it.',
  },
  'protection-off': {
    title: 'A protection that is switched off',
    summary: 'The document switches off a protection that holds by default.',
  },
  'not-enforced': {
    title: 'A section without effect',
    summary: 'This release reads and checks the section, but does not enforce it.',
  },

  // The graph
  'unreachable-node': { title: 'A node that is never reached', summary: 'No path leads from the entry to the node.' },
  'uncapped-cycle': { title: 'A cycle without a limit', summary: 'The graph can repeat a cycle without end.' },
  'no-way-out': { title: 'A node without a route', summary: 'A path stops at a node that is not an end.' },
  'no-terminal': { title: 'A path without an end', summary: 'A failure, a limit or a cancellation leads to no end.' },
  'too-few-branches': { title: 'Too few branches', summary: 'A parallel node needs at least two branches.' },
  'branch-to-end': {
    title: 'A branch without a node',
    summary: 'A branch of a parallel node leads straight to `end`.',
  },
  'count-without-number': {
    title: 'A count join without a count',
    summary: 'The join needs `count`, the number of branches to wait for.',
  },
  'count-above-branches': {
    title: 'A count above the branches',
    summary: 'The join waits for more branches than there are.',
  },
  'default-not-last': {
    title: 'A catch-all that is not last',
    summary: 'Error routes after the catch-all are never taken.',
  },
  'empty-error-route': {
    title: 'An error route without a condition',
    summary: 'An error route has neither `match` nor `default: true`.',
  },
  'unreachable-route': { title: 'A route that is never taken', summary: 'An earlier route always matches first.' },
  'never-holds': { title: 'A condition that never holds', summary: 'The condition is always false.' },
  'overlapping-guards': {
    title: 'Two conditions that can both hold',
    summary: 'Two conditions of one node can hold at once, so their order decides.',
  },
  'guard-without-schema': {
    title: 'A condition that protects a side effect has no schema',
    summary: 'An unexpected reply makes the condition fail, and a side effect then runs without its protection.',
  },
  'not-yet-run': {
    title: 'A value that does not exist yet',
    summary: 'A node reads the result of a node that cannot have run before it.',
  },

  // Expressions
  'bad-expression': {
    title: 'An expression that cannot be parsed',
    summary: 'The expression breaks a rule of the expression language.',
  },
  'bad-template': {
    title: 'A template that cannot be parsed',
    summary: 'A `{{ }}` in the text is not closed, or its expression is wrong.',
  },
  'bad-regex': {
    title: 'A pattern that cannot be used',
    summary: 'The regular expression is not valid, or needs a feature that linear-time matching lacks.',
  },
  'type-mismatch': {
    title: 'Types that do not fit',
    summary: 'An expression combines or compares values whose types never fit.',
  },

  // Steps
  'missing-agent': { title: 'No agent', summary: 'A step, loop or node needs an agent and names none.' },
  'same-agent': { title: 'An agent that hands over to itself', summary: 'Two steps in a row use the same agent.' },
  'collect-without-fanout': { title: 'Nothing to collect', summary: 'A Collect step does not follow a FanOut step.' },
  'empty-condition': {
    title: 'A condition without text',
    summary: 'A Conditional or Loop step has no text to look for.',
  },
  'unused-field': { title: 'A field without effect', summary: 'A step has a field that its mode does not use.' },

  // Teams
  'unknown-validator': {
    title: 'An unknown validator',
    summary: 'A route or an ending names a validator that does not exist.',
  },
  'unknown-contract': {
    title: 'An unknown contract',
    summary: 'A transition names a contract that `Contracts` does not declare.',
  },
  'unknown-sub-graph': {
    title: 'An unknown sub-graph',
    summary: 'A node runs a sub-graph that `SubGraphs` does not declare.',
  },
  'no-termination': {
    title: 'A session without an end',
    summary: 'No message of an agent ends the session, and no number of turns does.',
  },
  'ignored-termination': {
    title: 'A termination without effect',
    summary: 'The strategy ends by its own rules and ignores `Termination`.',
  },
  'shadowed-keyword': { title: 'Keywords that begin alike', summary: 'One keyword is the beginning of another.' },
  'same-role': { title: 'One agent in two roles', summary: 'An agent would judge its own work.' },
  'bad-parallel': {
    title: 'Invalid parallel branches',
    summary: 'A parallel transition or group breaks a rule of parallel branches.',
  },
  'unequal-arms': {
    title: 'An edge that counts as leading back',
    summary: 'An edge counts as leading back, although its target was not visited before.',
  },

  // The certificate and the input
  'unbounded-cost': { title: 'No upper limit on the cost', summary: 'The worst case of the flow has no limit.' },
  'budget-too-small': {
    title: 'A budget that is too small for any run',
    summary: 'A budget is smaller than what the shortest successful run must reserve.',
  },
  'huge-bound': {
    title: 'A limit that is very large',
    summary: 'The worst case is so large that the limit is probably a mistake.',
  },
  'missing-prerequisite': {
    title: 'Something that the flow needs is missing',
    summary: 'A program, a file or a variable that a tool needs is missing on this machine.',
  },
  'over-max-cost': {
    title: 'The worst case costs too much',
    summary: 'The worst case of the flow is above the limit of `--max-cost`.',
  },
  'bad-input': {
    title: 'The input does not fit',
    summary: 'The run was given an input that the document does not accept.',
  },
  'bad-suite': {
    title: 'A suite that cannot check what it says',
    summary: 'The suite has no cases, or two with one name; or a node, tool, metric or amount of it does not exist.',
  },
  'bad-script': {
    title: 'A script that does not fit the document',
    summary: 'The script names agents, tools or approvals that the document does not have.',
  },
} as const satisfies { readonly [code: string]: CodeEntry };

export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES;

export function isDiagnosticCode(code: string): code is DiagnosticCode {
  return Object.hasOwn(DIAGNOSTIC_CODES, code);
}
