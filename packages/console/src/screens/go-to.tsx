/** Go to a workspace, a kind, an object or a page, by typing some of its name. */
import type { ApiResource } from "@kcp-ts/sdk/discovery";
import { syncTargets, workloadPlacements, workspaces } from "@kcp-ts/sdk/kinds";
import type { TargetedKeyboardEvent } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../elements/index.ts";
import { useResource, useResources } from "../live/index.ts";
import { formatRoute, type Route } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import type { Named } from "./name-pages.ts";
import {
  joined,
  matcher,
  matching,
  type SearchResult,
  shownMax,
  spelled,
  startOf,
} from "./places.ts";
import { type NameSearch, type Names, useNames } from "./use-names.ts";

interface GoToProps {
  readonly place: Route;
  readonly onClose: () => void;
  readonly onGo: (address: string) => void;
}

export function GoTo({ place, onClose, onGo }: GoToProps) {
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const typed = text.trim();
  const pages = usePages(place);
  const groups = useGroups(place.cluster, typed);
  const isComplete = groups.some(({ isBegun, names }) => isBegun && isWhole(names));
  // What is spelled is known to be missing only if all that could be there was listed.
  const exact = isComplete ? [] : spelled(typed, place.cluster);
  const ofGroups = groups.map(({ names: { names }, titleOf, placeOf }) => {
    const { shown, count } = matching(names, titleOf, typed);
    return { places: shown.map(placeOf), count };
  });
  const ofPages = matching(pages, ({ title }) => title, typed);
  const candidates = [...ofGroups.flatMap(({ places }) => places), ...ofPages.shown];
  const found = joined(exact, matching(candidates, ({ title }) => title, typed).shown);
  const count = ofGroups.reduce((sum, one) => sum + one.count, ofPages.count);
  const at = Math.min(selected, found.length - 1);
  const go = (one: SearchResult | undefined) => {
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
            <bdi>{one.title}</bdi>
            <span class="quiet">{one.kind}</span>
          </li>
        ))}
      </ul>
      <SearchState groups={groups} found={found.length} count={count} />
    </Dialog>
  );
}

function workspaceResult(path: string): SearchResult {
  const address = formatRoute({ screen: "workspace", cluster: path });
  return { kind: "workspace", title: path, address };
}

function objectNameOf({ resource, group }: ApiResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** Pages, actions and kinds of the current workspace: there are few of them. */
function usePages({ cluster }: Route): readonly SearchResult[] {
  const kinds = useResources(useSession().clientIn(cluster)).result ?? [];
  const pages = ["clusters", "placements", "sharing", "access", "usage", "audit"] as const;
  const query = { do: "create" };
  const action = (title: string, address: string) => ({ kind: "action", title, address });
  return [
    ...pages.map((screen) => ({
      kind: "page",
      title: screen,
      address: formatRoute({ screen, cluster }),
    })),
    action("create workspace", formatRoute({ screen: "workspace", cluster, query })),
    action("register cluster", formatRoute({ screen: "clusters", cluster, query })),
    ...kinds
      .filter(({ verbs }) => verbs.includes("create"))
      .map((kind) => {
        const resource = objectNameOf(kind);
        return action(`create ${resource}`, formatRoute({ screen: "create", cluster, resource }));
      }),
    ...kinds.map((kind) => {
      const resource = objectNameOf(kind);
      const address = formatRoute({ screen: "list", cluster, resource });
      return { kind: "kind", title: resource, address };
    }),
  ];
}

/** Objects of one kind, which may be very many: a place is made of those that match. */
interface Group {
  readonly names: Names;
  /** Whether the text begins to spell one of them. */
  readonly isBegun?: boolean;
  readonly titleOf: (named: Named) => string;
  readonly placeOf: (named: Named) => SearchResult;
}

function isWhole({ remaining, isLoading, error }: Names): boolean {
  return remaining === 0 && !isLoading && error === undefined;
}

function inWorkspace(path: string): Group["titleOf"] {
  return ({ name }) => `${path}:${name}`;
}

function titleIn(kind: string | undefined): Group["titleOf"] {
  return ({ namespace, name }) => [kind, namespace, name].filter(Boolean).join("/");
}

function placementTitle({ name, namespace }: Named): string {
  return `${name} in ${namespace}`;
}

/** Names are looked through until there are as many that match as are shown. */
function searchOf(typed: string, titleOf: Group["titleOf"]): NameSearch | undefined {
  if (typed === "") return undefined;
  const matches = matcher(typed);
  const text = `${typed} ${titleOf({ name: "", namespace: "" })}`;
  return { text, wanted: shownMax, matches: (named) => matches(titleOf(named).toLowerCase()) };
}

function useGroups(cluster: string, typed: string): readonly Group[] {
  const session = useSession();
  const client = session.clientIn(cluster);
  const searchBy = (titleOf: Group["titleOf"]) => searchOf(typed, titleOf);
  const { parent, kind, namespace } = startOf(typed);
  const objectTitle = titleIn(kind);
  const resource = useResource(client, kind).result ?? undefined;
  const scope = resource?.namespaced === true ? namespace : undefined;
  const children = useNames({
    client,
    resource: workspaces,
    search: searchBy(inWorkspace(cluster)),
  });
  const placements = useNames({
    client,
    resource: workloadPlacements,
    search: searchBy(placementTitle),
  });
  const targets = useNames({
    client,
    resource: syncTargets,
    search: searchBy(({ name }) => `drain ${name}`),
  });
  const others = useNames({
    client: session.clientIn(parent ?? cluster),
    resource: parent === undefined || parent === cluster ? undefined : workspaces,
    search: searchBy(inWorkspace(parent ?? cluster)),
  });
  const objects = useNames({ client, resource, namespace: scope, search: searchBy(objectTitle) });
  const workspacesIn = (path: string, names: Names): Group => ({
    names,
    isBegun: parent === path,
    titleOf: inWorkspace(path),
    placeOf: ({ name }) => workspaceResult(`${path}:${name}`),
  });
  const targetPlace = (title: string, name: string, query: Route["query"] = {}): SearchResult => ({
    kind: title === name ? "cluster" : "action",
    title,
    address: formatRoute({ screen: "cluster", cluster, name, query }),
  });
  return [
    ...(parent === undefined || parent === cluster ? [] : [workspacesIn(parent, others)]),
    {
      names: objects,
      isBegun: resource !== undefined,
      titleOf: objectTitle,
      placeOf: (named) => ({
        kind: "object",
        title: objectTitle(named),
        address: formatRoute({ screen: "object", cluster, resource: kind, ...named }),
      }),
    },
    workspacesIn(cluster, children),
    {
      names: placements,
      titleOf: placementTitle,
      placeOf: (named) => ({
        kind: "placement",
        title: placementTitle(named),
        address: formatRoute({ screen: "placement", cluster, ...named }),
      }),
    },
    {
      names: targets,
      titleOf: ({ name }) => `drain ${name}`,
      placeOf: ({ name }) => targetPlace(`drain ${name}`, name, { do: "drain" }),
    },
    { names: targets, titleOf: ({ name }) => name, placeOf: ({ name }) => targetPlace(name, name) },
  ];
}

interface SearchStateProps {
  readonly groups: readonly Group[];
  readonly found: number;
  readonly count: number;
}

/** How far the search is, and what it leaves out. */
function SearchState({ groups, found, count }: SearchStateProps) {
  const names = [...new Set(groups.map((one) => one.names))];
  const seen = names.reduce((sum, one) => sum + one.names.length, 0);
  const remaining = names.reduce((sum, one) => sum + one.remaining, 0);
  const isLoading = names.some((one) => one.isLoading);
  const texts = [
    found === 0 && !isLoading ? "Nothing of this name here." : "",
    count > found ? `${found} of ${count} that match are shown: type more of the name.` : "",
    isLoading && remaining > 0
      ? `Looking through ${seen} of about ${seen + remaining} names…`
      : remaining > 0
        ? `The first ${seen} of about ${seen + remaining} names were looked through.`
        : "",
    names.some(({ error }) => error !== undefined)
      ? "Some of what is here you may not list: a whole name is found, too."
      : "",
  ];
  return (
    <p class="quiet" role="status">
      {texts.filter((text) => text !== "").join(" ")}
    </p>
  );
}
