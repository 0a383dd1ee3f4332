/** Beside the graph: the open questions, and the tabs. */
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { useMay } from '../data/me.ts';
import { questionQuery } from '../data/server.ts';
import type { OpenQuestion } from '../data/types.ts';
import { useParameter, useParameters } from '../data/url.ts';
import { QuestionCard } from '../question/question-card.tsx';
import { useKeys } from '../ui/keys.ts';
import { Tabs } from '../ui/parts.tsx';
import { useRun } from './context.tsx';
import { JournalPanel } from './journal-panel.tsx';
import { OutputPanel } from './output-panel.tsx';
import { PromptsPanel, callsIn } from './prompts-panel.tsx';
import { StoryPanel } from './story-panel.tsx';
import { storyOf } from './story.ts';

const TABS = ['story', 'prompts', 'output', 'journal'] as const;
type Tab = (typeof TABS)[number];
const TITLES: { readonly [tab in Tab]: string } = {
  story: 'Story',
  prompts: 'Prompts',
  output: 'Output',
  journal: 'Journal',
};

export function SidePanel(): ReactElement {
  const { events, last, before, report, isAtEnd } = useRun();
  const given = useParameter('tab');
  const set = useParameters();
  const tab = TABS.find((each) => each === given) ?? 'story';
  const select = (to: Tab): void => set({ tab: to === 'story' ? undefined : to, call: undefined });
  useKeys(
    'Tabs',
    TABS.map((each, index) => ({ keys: String(index + 1), does: TITLES[each], run: () => select(each) })),
  );
  const amounts: { readonly [each in Tab]: number | undefined } = {
    story: before > 0 ? undefined : storyOf(events).length,
    prompts: before > 0 ? undefined : callsIn(events).length,
    output: undefined,
    journal: last,
  };
  return (
    <aside className="run-side" aria-label="Details">
      {isAtEnd && report.waiting.map((question) => <Asked key={question.id} question={question} />)}
      <Tabs
        label="About the run"
        tabs={TABS.map((id) => ({ id, title: TITLES[id], amount: amounts[id] }))}
        selected={tab}
        onSelect={select}
      />
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`} className="panel" tabIndex={-1}>
        {tab === 'story' && <StoryPanel />}
        {tab === 'prompts' && <PromptsPanel />}
        {tab === 'output' && <OutputPanel />}
        {tab === 'journal' && <JournalPanel />}
      </div>
    </aside>
  );
}

/** Who may answer is known to those who may see questions. */
function Asked({ question }: { readonly question: OpenQuestion }): ReactElement | null {
  const mayAsk = useMay('approver');
  const { data } = useQuery({ ...questionQuery(question.id), enabled: mayAsk });
  const shown = data ?? { ...question, mayAnswer: false };
  // A caller without the right to content has no packet.
  return 'packet' in shown ? <QuestionCard key={shown.payload} question={shown} /> : null;
}
