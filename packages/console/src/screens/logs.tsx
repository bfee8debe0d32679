/** The logs of a Pod, or of all Pods of a workload, in whichever clusters they are. */
import { type DynamicObject, defineResource } from "@kcp-ts/sdk/client";
import type { ApiResource } from "@kcp-ts/sdk/discovery";
import { type Pod, pods } from "@kcp-ts/sdk/kinds";
import { useEffect, useMemo, useState } from "preact/hooks";
import { ErrorNotice, KubectlLine, Loading, Part, shellLine } from "../elements/index.ts";
import { nameSelector, useLiveObjects, useLoaded, useResource } from "../live/index.ts";
import { formatRoute, setQuery } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { LogFollower, type LogSource } from "../streams/index.ts";
import { Screen, TerminalView } from "../terminal/index.ts";
import type { ScreenProps } from "./console.tsx";

const scrollbackMax = 10_000;
const tailLines = 200;
/** A browser has six connections to `kcp console`, and the page needs some of them. */
const followedMax = { token: 20, proxy: 3 } as const;

export function LogsScreen({ route }: ScreenProps) {
  const { cluster, resource: kind = "pods", namespace = "", name = "" } = route;
  const client = useSession().clientIn(cluster);
  const { result: resource, error } = useResource(client, kind);
  const isPod = kind === "pods";
  const title = isPod ? `Logs of ${name}` : `Logs of the Pods of ${name}`;
  const type = isPod ? name : `${resource?.singular ?? kind}/${name}`;
  const { c: container = "" } = route.query;
  const flags = container === "" ? ["--all-containers"] : ["-c", container];
  return (
    <>
      <header class="title">
        <h1>{title}</h1>
        <a
          class="button"
          href={formatRoute({ screen: "object", cluster, resource: kind, namespace, name })}
        >
          {resource?.kind ?? kind}
        </a>
      </header>
      <KubectlLine
        line={shellLine`kubectl ws :${cluster} && kubectl logs -n ${namespace} ${type} ${flags} --prefix -f`}
      />
      {error !== undefined ? <ErrorNotice error={error} /> : null}
      {resource === undefined && error === undefined ? <Loading what="the workload" /> : null}
      {resource ? <Selected key={name} route={route} resource={resource} /> : null}
    </>
  );
}

type SelectedProps = ScreenProps & { readonly resource: ApiResource };

/** The Pods that the workload selects by labels, or the Pod itself. */
function Selected({ route, resource }: SelectedProps) {
  const { cluster, namespace = "", name = "" } = route;
  const client = useSession().clientIn(cluster);
  const isPod = resource.resource === "pods";
  const selector = useLoaded(async (signal) => {
    if (isPod) return { fieldSelector: nameSelector(name) };
    const type = defineResource<DynamicObject>(resource as never);
    const workload = await client.resource(type).get({ namespace, name }, { signal });
    return { labelSelector: labelSelectorOf(workload) };
  }, `${cluster} ${resource.resource} ${namespace} ${name}`);
  if (selector.error !== undefined) return <ErrorNotice error={selector.error} />;
  if (selector.result === undefined) return <Loading what="the workload" />;
  return <Followed route={route} selector={{ namespace, ...selector.result }} />;
}

function labelSelectorOf(workload: DynamicObject): string {
  const spec = (workload["spec"] ?? {}) as {
    selector?: { matchLabels?: Readonly<Record<string, string>> };
  };
  const labels = Object.entries(spec.selector?.matchLabels ?? {});
  if (labels.length === 0) throw new Error("this object selects no Pods by labels");
  return labels.map(([key, value]) => `${key}=${value}`).join(",");
}

interface FollowedProps extends ScreenProps {
  readonly selector: { readonly namespace: string };
}

/** Pods that came up from a cluster have a label of this prefix with its name. */
const clusterLabelPrefix = "state.workload.kcp.io/";

function clusterOf({ metadata }: Pod): string {
  const label = Object.keys(metadata.labels ?? {}).find((key) =>
    key.startsWith(clusterLabelPrefix),
  );
  return label?.slice(clusterLabelPrefix.length) ?? "";
}

function sourcesOf(found: readonly Pod[], query: Readonly<Record<string, string>>): LogSource[] {
  const { c: wanted = "", name = "" } = query;
  const chosen = found.filter(({ metadata }) => metadata.name.includes(name));
  const sources = chosen.flatMap((pod) => {
    const { metadata, spec, status } = pod;
    return (spec?.containers ?? [])
      .filter(
        (one) =>
          (wanted === "" || one.name === wanted) &&
          status?.containerStatuses?.some(
            (each) => each.name === one.name && each.state?.waiting === undefined,
          ) === true,
      )
      .map((one) => ({
        namespace: metadata.namespace ?? "",
        pod: metadata.name,
        container: one.name,
        cluster: clusterOf(pod),
      }));
  });
  const hasOne = sources.length === 1 && found.length === 1;
  return sources.map(({ cluster, ...one }) => ({
    ...one,
    title: hasOne ? "" : [cluster, one.pod, one.container].filter(Boolean).join("/"),
  }));
}

function Followed({ route: { cluster, query }, selector }: FollowedProps) {
  const session = useSession();
  const client = session.clientIn(cluster);
  const live = useLiveObjects<Pod>(client, pods, selector);
  const screen = useMemo(() => new Screen({ scrollbackMax, isLog: true }), []);
  useEffect(() => () => screen.close(), []);
  const isPrevious = query["previous"] === "true";
  const hasTimestamps = query["times"] === "true";
  const follower = useMemo(
    () =>
      new LogFollower(client, { tailLines, isPrevious, hasTimestamps }, (text) =>
        screen.write(text),
      ),
    [isPrevious, hasTimestamps],
  );
  useEffect(() => {
    screen.clear();
    return () => follower.stop();
  }, [follower]);
  const found = live?.objects ?? [];
  const all = sourcesOf(found, query);
  const max = followedMax[session.configuration.authentication];
  const sources = all.slice(0, max);
  useEffect(() => follower.follow(sources), [follower, JSON.stringify(sources)]);
  const containers = [
    ...new Set(found.flatMap(({ spec }) => (spec?.containers ?? []).map((one) => one.name))),
  ];
  if (live?.health.hasSynced !== true) return <Part of={live} what="the Pods" />;
  const clusters = new Set(found.map(clusterOf));
  const of = clusters.size > 1 ? ` in ${clusters.size} clusters` : "";
  return (
    <>
      <LogFilters query={query} containers={containers} screen={screen} />
      <p class="quiet" role="status">
        {all.length === 0
          ? "No container has started here."
          : `Following ${sources.length} of ${all.length} containers of ${found.length} Pods${of}.${all.length > max ? " Select some by name to follow others." : ""} Each begins ${tailLines} lines back; ${scrollbackMax.toLocaleString("en")} lines are kept here.`}
      </p>
      <TerminalView screen={screen} label="Logs" />
    </>
  );
}

interface LogFiltersProps {
  readonly query: Readonly<Record<string, string>>;
  readonly containers: readonly string[];
  readonly screen: Screen;
}

function LogFilters({ query, containers, screen }: LogFiltersProps) {
  const [isCopied, setCopied] = useState(false);
  const check = (key: string, title: string) => (
    <label class="check">
      <input
        type="checkbox"
        checked={query[key] === "true"}
        onChange={(event) => setQuery({ [key]: event.currentTarget.checked ? "true" : "" })}
      />
      {title}
    </label>
  );
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        Pod name contains
        <input
          value={query["name"] ?? ""}
          onChange={(event) => setQuery({ name: event.currentTarget.value.trim() })}
        />
      </label>
      <label>
        Container
        <select
          value={query["c"] ?? ""}
          onChange={(event) => setQuery({ c: event.currentTarget.value })}
        >
          <option value="">all</option>
          {containers.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {check("times", "Times")}
      {check("previous", "Previous run")}
      <button
        type="button"
        onClick={() => {
          navigator.clipboard.writeText(screen.text()).then(
            () => setCopied(true),
            () => setCopied(false),
          );
        }}
      >
        {isCopied ? "Copied" : "Copy all"}
      </button>
    </form>
  );
}
