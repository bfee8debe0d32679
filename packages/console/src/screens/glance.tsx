/** How a workspace is at a glance: its clusters and its placements, and how many are not well. */
import { isStatusError } from "@kcp-ts/machinery/status";
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

/** Nothing is shown where there is nothing. */
function Counted({ cluster, screen, resource, noun, wrong }: CountedProps) {
  const live = useLiveTable(useSession().clientIn(cluster), resource, {});
  const { columns = [], rows = [], remaining = 0, health } = live ?? {};
  if (health?.hasSynced === false && isStatusError(health.lastError, "Forbidden"))
    return <li class="quiet">{`You may not see the ${noun}s here.`}</li>;
  if (rows.length === 0) return null;
  const bad = rows.filter(({ cells }) => looksWrong(columns, cells)).length;
  const all = `${rows.length + remaining} ${noun}${rows.length === 1 ? "" : "s"}`;
  const seen = remaining === 0 ? "" : ` of the first ${rows.length}`;
  const text = bad === 0 ? `${all}, all${seen} well` : `${all}, ${bad}${seen} not well`;
  return (
    <li>
      <a href={formatRoute({ screen, cluster, query: bad === 0 ? {} : wrong })}>
        <Tone word={text} tone={bad === 0 ? "good" : "bad"} />
      </a>
    </li>
  );
}
