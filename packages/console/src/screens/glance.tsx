/** How a workspace is at a glance: its clusters and its placements, and how many are not well. */
import type { Resource } from "@kcp-ts/sdk/client";
import { syncTargets, workloadPlacements } from "@kcp-ts/sdk/kinds";
import { Tone } from "../elements/index.ts";
import { useLiveTable } from "../live/index.ts";
import { formatRoute } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { looksWrong } from "./table-rows.ts";

const shown = [
  { screen: "clusters", resource: syncTargets, noun: "cluster", wrong: {} },
  {
    screen: "placements",
    resource: workloadPlacements,
    noun: "placement",
    wrong: { wrong: "true" },
  },
] as const;

export function Glance({ cluster }: { readonly cluster: string }) {
  return (
    <ul class="glance" aria-label="At a glance">
      {shown.map((one) => (
        <Counted key={one.screen} cluster={cluster} {...one} />
      ))}
    </ul>
  );
}

interface CountedProps {
  readonly cluster: string;
  readonly screen: "clusters" | "placements";
  readonly resource: Resource;
  readonly noun: string;
  /** The filter of the list that shows what is not well. */
  readonly wrong: Readonly<Record<string, string>>;
}

/** Nothing is shown where there is nothing, or nothing that the user may see. */
function Counted({ cluster, screen, resource, noun, wrong }: CountedProps) {
  const live = useLiveTable(useSession().clientIn(cluster), resource, {});
  const { columns = [], rows = [], remaining = 0 } = live ?? {};
  if (rows.length === 0) return null;
  const bad = rows.filter(({ cells }) => looksWrong(columns, cells)).length;
  const all = `${rows.length + remaining} ${noun}${rows.length === 1 ? "" : "s"}`;
  const text = bad === 0 ? `${all}, all well` : `${all}, ${bad} not well`;
  return (
    <li>
      <a href={formatRoute({ screen, cluster, query: bad === 0 ? {} : wrong })}>
        <Tone word={text} tone={bad === 0 ? "good" : "bad"} />
      </a>
    </li>
  );
}
