/** Go to a workspace, a kind, an object or a page, by typing some of its name. */
import { syncTargets, workspaces } from "@kcp-ts/sdk/kinds";
import type { TargetedKeyboardEvent } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../elements/index.ts";
import { useLoaded, useResources } from "../live/index.ts";
import { formatRoute, type Route } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";

interface Place {
  readonly kind: string;
  readonly title: string;
  readonly address: string;
}

interface GoToProps {
  readonly place: Route;
  readonly onClose: () => void;
  readonly onGo: (address: string) => void;
}

const shownMax = 12;

export function GoTo({ place, onClose, onGo }: GoToProps) {
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const found = matching(usePlaces(place), text.trim(), place.cluster);
  const at = Math.min(selected, found.length - 1);
  const go = (one: Place | undefined) => {
    if (one === undefined) return;
    onClose();
    onGo(one.address);
  };
  const onKey = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    if (event.key === "ArrowDown") setSelected(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") setSelected(Math.max(at - 1, 0));
    else if (event.key === "Enter") go(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        role="combobox"
        aria-label="Workspace, kind, kind/name, cluster or page"
        aria-expanded={found.length > 0}
        aria-controls="places"
        aria-activedescendant={found.length > 0 ? `place-${at}` : undefined}
        placeholder="root:org · deployments · deployment/web · clusters"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setSelected(0);
        }}
        onKeyDown={onKey}
      />
      <ul id="places" role="listbox" aria-label="Places" class="places">
        {found.map((one, index) => (
          <li
            id={`place-${index}`}
            key={`${one.kind} ${one.address}`}
            role="option"
            aria-selected={index === at}
            onClick={() => go(one)}
          >
            <span>{one.title}</span>
            <span class="quiet">{one.kind}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 ? <p class="quiet">Nothing of this name here.</p> : null}
    </Dialog>
  );
}

/** Everything that can be named in the current workspace. */
function usePlaces({ cluster }: Route): readonly Place[] {
  const client = useSession().clientIn(cluster);
  const kinds = useResources(client).result ?? [];
  const children = useLoaded(
    (signal) => client.resource(workspaces).listMetadata({ limit: 500, signal }),
    cluster,
  ).result;
  const targets = useLoaded(
    (signal) => client.resource(syncTargets).listMetadata({ limit: 500, signal }),
    cluster,
  ).result;
  const pages = ["clusters", "placements", "sharing", "access", "usage", "audit"] as const;
  const query = { do: "create" };
  return [
    ...(children?.items ?? []).map(({ metadata: { name } }) => ({
      kind: "workspace",
      title: `${cluster}:${name}`,
      address: formatRoute({ screen: "workspace", cluster: `${cluster}:${name}` }),
    })),
    ...pages.map((screen) => ({
      kind: "page",
      title: screen,
      address: formatRoute({ screen, cluster }),
    })),
    {
      kind: "action",
      title: "create workspace",
      address: formatRoute({ screen: "workspace", cluster, query }),
    },
    {
      kind: "action",
      title: "register cluster",
      address: formatRoute({ screen: "clusters", cluster, query }),
    },
    ...(targets?.items ?? []).map(({ metadata: { name } }) => ({
      kind: "action",
      title: `drain ${name}`,
      address: formatRoute({ screen: "cluster", cluster, name, query: { do: "drain" } }),
    })),
    ...kinds
      .filter(({ verbs }) => verbs.includes("create"))
      .map(({ resource, group }) => {
        const name = group === "" ? resource : `${resource}.${group}`;
        return {
          kind: "action",
          title: `create ${name}`,
          address: formatRoute({ screen: "create", cluster, resource: name }),
        };
      }),
    ...(targets?.items ?? []).map(({ metadata: { name } }) => ({
      kind: "cluster",
      title: name,
      address: formatRoute({ screen: "cluster", cluster, name }),
    })),
    ...kinds.map(({ resource, group }) => {
      const name = group === "" ? resource : `${resource}.${group}`;
      return {
        kind: "kind",
        title: name,
        address: formatRoute({ screen: "list", cluster, resource: name }),
      };
    }),
  ];
}

function matching(places: readonly Place[], text: string, cluster: string): readonly Place[] {
  const words = text.toLowerCase().split(/\s+/);
  const begins = (title: string) => (title.toLowerCase().startsWith(text.toLowerCase()) ? 0 : 1);
  const named = places
    .filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)))
    .sort((a, b) => begins(a.title) - begins(b.title));
  return [...spelled(text, cluster), ...named].slice(0, shownMax);
}

/** `root:org`, `deployment/web` and `deployment/shop/web` are places without being looked up. */
function spelled(text: string, cluster: string): readonly Place[] {
  const [kind, ...rest] = text.split("/");
  const name = rest.at(-1);
  if (kind && name && rest.length <= 2) {
    const namespace = rest.length === 2 ? rest[0] : "default";
    const query = { guess: rest.length === 1 ? "namespace" : "" };
    const address = formatRoute({
      screen: "object",
      cluster,
      resource: kind,
      namespace,
      name,
      query,
    });
    return [{ kind: "object", title: text, address }];
  }
  if (!/^[a-z0-9][a-z0-9-]*(?::[a-z0-9-]+)+$|^root$/.test(text)) return [];
  const address = formatRoute({ screen: "workspace", cluster: text });
  return [{ kind: "workspace", title: text, address }];
}
