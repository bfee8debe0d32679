/** Go to a workspace, a kind, an object or a page, by typing some of its name. */
import type { KubernetesObject, Resource } from "@kcp-ts/sdk/client";
import type { ApiResource } from "@kcp-ts/sdk/discovery";
import { syncTargets, workloadPlacements, workspaces } from "@kcp-ts/sdk/kinds";
import type { TargetedKeyboardEvent } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../elements/index.ts";
import { useLoaded, useResource, useResources } from "../live/index.ts";
import { formatRoute, type Route } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { matching, type Place, spelled, startOf } from "./places.ts";

interface GoToProps {
  readonly place: Route;
  readonly onClose: () => void;
  readonly onGo: (address: string) => void;
}

export function GoTo({ place, onClose, onGo }: GoToProps) {
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const typed = text.trim();
  const places = usePlaces(place);
  const begun = useBegun(typed, place.cluster);
  // What is spelled is known to be missing only if all that could be there was listed.
  const exact = begun.isComplete ? [] : spelled(typed, place.cluster);
  const found = matching([...begun.places, ...places], typed, exact);
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

/** Of a kind: what is behind them is found by its beginning, or by its whole name. */
const listedMax = 500;

function workspacePlace(path: string): Place {
  const address = formatRoute({ screen: "workspace", cluster: path });
  return { kind: "workspace", title: path, address };
}

/** Everything that can be named in the current workspace. */
function usePlaces({ cluster }: Route): readonly Place[] {
  const client = useSession().clientIn(cluster);
  const kinds = useResources(client).result ?? [];
  const listed = <Kind extends KubernetesObject>(resource: Resource<Kind>) =>
    useLoaded(
      (signal) => client.resource(resource).listMetadata({ limit: listedMax, signal }),
      `${cluster} ${resource.resource}`,
    ).result;
  const children = listed(workspaces);
  const placements = listed(workloadPlacements);
  const targets = listed(syncTargets);
  const pages = ["clusters", "placements", "sharing", "access", "usage", "audit"] as const;
  const query = { do: "create" };
  return [
    ...(children?.items ?? []).map(({ metadata: { name } }) =>
      workspacePlace(`${cluster}:${name}`),
    ),
    ...(placements?.items ?? []).map(({ metadata: { name, namespace } }) => ({
      kind: "placement",
      title: `${name} in ${namespace}`,
      address: formatRoute({ screen: "placement", cluster, namespace, name }),
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

interface Begun {
  readonly places: readonly Place[];
  readonly isComplete: boolean;
}

/** What a text begins to spell: children of the workspace before its last colon, or objects. */
function useBegun(text: string, cluster: string): Begun {
  const session = useSession();
  const { parent, kind, namespace } = startOf(text);
  const children = useLoaded(
    (signal) =>
      session
        .clientIn(parent ?? "")
        .resource(workspaces)
        .listMetadata({ limit: listedMax, signal }),
    parent,
  ).result;
  const client = session.clientIn(cluster);
  const resource = useResource(client, kind).result ?? undefined;
  const scope = resource?.namespaced === true ? namespace : undefined;
  const objects = useLoaded(
    (signal) =>
      client
        .resource(resource as ApiResource)
        .listMetadata({ limit: listedMax, namespace: scope, signal }),
    resource && `${cluster} ${kind} ${scope}`,
  ).result;
  const listed = parent === undefined ? objects : children;
  const places = (listed?.items ?? []).map(({ metadata }): Place => {
    const { name, namespace: own } = metadata;
    if (parent !== undefined) return workspacePlace(`${parent}:${name}`);
    const title = [kind, own, name].filter(Boolean).join("/");
    const place = { screen: "object", cluster, resource: kind, namespace: own, name } as const;
    return { kind: "object", title, address: formatRoute(place) };
  });
  return { places, isComplete: listed !== undefined && !listed.metadata.continue };
}
