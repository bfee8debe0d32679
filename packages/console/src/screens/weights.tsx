/** What if a Placement had other weights: asked first, then written. */
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Placement, placements, syncTargets } from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import { accessTo, useLoaded } from "../live/index.ts";
import { useSession } from "../session/index.ts";
import { parseWeights } from "./decisions.ts";
import type { Question } from "./what-if.tsx";

interface WeightsProps {
  readonly cluster: string;
  readonly onAsk: (question: Question) => void;
}

export function Weights({ cluster, onAsk }: WeightsProps) {
  const client = useSession().clientIn(cluster);
  const { result, error } = useLoaded(async (signal) => {
    const found: Placement[] = [];
    for await (const one of client.resource(placements).items({ signal })) found.push(one);
    // A few, for an example of weights.
    const targets = await client.resource(syncTargets).listMetadata({ limit: 3, signal });
    return { found, names: targets.items.map(({ metadata }) => metadata.name) };
  }, cluster);
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  if (isStatusError(error, "Forbidden"))
    return <p class="quiet">You may not see the Placements and their weights.</p>;
  if (result === undefined || result.found.length === 0) return null;
  const chosen = result.found.find((one) => one.metadata.name === name) ?? result.found[0];
  const weights = parseWeights(text);
  const ask = () => {
    if (chosen === undefined || weights === undefined) return;
    const { name: target } = chosen.metadata;
    // As a merge patch leaves it: weights that are not named stay.
    const merged = { ...chosen.spec?.weights, ...weights };
    const changed = { ...chosen, spec: { ...chosen.spec, weights: merged } };
    onAsk({
      title: `If Placement ${target} had the weights ${text}`,
      line: "kubectl kcp plan -f edited.yaml",
      plan: async () => ({ objects: [changed as never] }),
      action: {
        text: "Write these weights",
        access: accessTo(placements, "patch", { name: target }),
        run: () =>
          client
            .resource(placements)
            .patch({ name: target }, { type: "merge", patch: { spec: { weights } } }),
      },
    });
  };
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <label>
        Placement
        <select
          value={chosen?.metadata.name}
          onChange={(event) => setName(event.currentTarget.value)}
        >
          {result.found.map(({ metadata }) => (
            <option key={metadata.name}>{metadata.name}</option>
          ))}
        </select>
      </label>
      <label>
        Weights
        <input
          value={text}
          placeholder={weightsText(chosen, result.names)}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={weights === undefined}>
        If weighted
      </button>
    </form>
  );
}

function weightsText(placement: Placement | undefined, names: readonly string[]): string {
  const { weights = {} } = placement?.spec ?? {};
  return names.map((name) => `${name}=${weights[name] ?? 1}`).join(", ");
}
