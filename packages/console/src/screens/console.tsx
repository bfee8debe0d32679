/** The frame around every page: login, navigation, the state of the connection, and the page. */
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ErrorNotice, Loading } from "../elements/index.ts";
import { connection } from "../live/index.ts";
import { formatRoute, goTo, parentOf, type Route, route } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { lazily } from "./lazily.tsx";
import { Login } from "./login.tsx";
import { Tree } from "./tree.tsx";
import { WorkspaceScreen } from "./workspace.tsx";

export interface ScreenProps {
  readonly route: Route;
}

const ListScreen = lazily(async () => (await import("./list.tsx")).ListScreen);
const GoTo = lazily(async () => (await import("./go-to.tsx")).GoTo);

const placementList = { resource: "workloadplacements.scheduling.kcp.io" };

const screens: Readonly<Record<Route["screen"], ComponentType<ScreenProps>>> = {
  workspace: WorkspaceScreen,
  list: ListScreen,
  object: lazily(async () => (await import("./object.tsx")).ObjectScreen),
  placements: ({ route: place }) => <ListScreen route={{ ...place, ...placementList }} />,
  placement: lazily(async () => (await import("./placement.tsx")).PlacementScreen),
  clusters: lazily(async () => (await import("./clusters.tsx")).ClustersScreen),
  cluster: lazily(async () => (await import("./cluster.tsx")).ClusterScreen),
  sharing: lazily(async () => (await import("./sharing.tsx")).SharingScreen),
  access: lazily(async () => (await import("./access.tsx")).AccessScreen),
  usage: lazily(async () => (await import("./usage.tsx")).UsageScreen),
  audit: lazily(async () => (await import("./audit.tsx")).AuditScreen),
  logs: lazily(async () => (await import("./logs.tsx")).LogsScreen),
  shell: lazily(async () => (await import("./shell.tsx")).ShellScreen),
  create: lazily(async () => (await import("./create.tsx")).CreateScreen),
};

export function Console() {
  const session = useSession();
  const state = session.state.value;
  const place = route.value;
  useEffect(() => {
    if (place !== undefined || state.kind !== "ready") return;
    const cluster = session.configuration.workspace ?? "root";
    history.replaceState(null, "", formatRoute({ screen: "workspace", cluster }));
    dispatchEvent(new PopStateEvent("popstate"));
  }, [place, state.kind]);
  if (state.kind === "starting") return <Loading what="the console" />;
  if (state.kind === "failed") return <ErrorNotice error={new Error(state.message)} />;
  const isWaiting = state.kind === "login";
  const user = isWaiting ? state.expiredUser : state.user;
  const login = isWaiting ? <Login message={state.message} /> : null;
  if (user === undefined) return login;
  if (place === undefined) return <Loading what="the console" />;
  // The page of a user whose token has expired waits: what was typed is there after the login.
  return (
    <>
      <div key={user} class={isWaiting ? "waiting" : "present"} inert={isWaiting}>
        <Frame place={place} user={user} />
      </div>
      {login}
    </>
  );
}

const sections = [
  ["workspace", "Overview"],
  ["clusters", "Clusters"],
  ["placements", "Placements"],
  ["sharing", "Sharing"],
  ["access", "Access"],
  ["usage", "Usage"],
  ["audit", "Audit"],
] as const;

function Frame({ place, user }: { readonly place: Route; readonly user: string }) {
  const [isSearching, setSearching] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  useEffect(() => setMenuOpen(false), [place]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") setMenuOpen(false);
      const isTyping = (event.target as Element | null)?.closest("input, textarea, select, dialog");
      const isShortcut = event.key === "k" && (event.ctrlKey || event.metaKey);
      if (!isShortcut && (event.key !== "/" || isTyping)) return;
      event.preventDefault();
      setSearching(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const Screen = screens[place.screen];
  const { cluster } = place;
  const page = `${place.screen} ${cluster} ${place.resource} ${place.namespace} ${place.name}`;
  const first = useRef(page);
  useEffect(() => {
    // A new page begins at its top, and its heading is what is read next.
    if (page !== first.current) document.getElementById("main")?.focus();
    first.current = "";
  }, [page]);
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="top">
        <button
          type="button"
          class="menu"
          aria-expanded={isMenuOpen}
          aria-controls="side"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          Menu
        </button>
        <TopBar cluster={cluster} user={user} onSearch={() => setSearching(true)} />
      </header>
      <nav id="side" class={isMenuOpen ? "side open" : "side"} aria-label="Workspace">
        <ul class="sections">
          {sections.map(([screen, title]) => (
            <li key={screen}>
              <a
                href={formatRoute({ screen, cluster })}
                aria-current={screen === place.screen ? "page" : undefined}
              >
                {title}
              </a>
            </li>
          ))}
        </ul>
        <h2>Workspaces</h2>
        <Tree current={cluster} />
      </nav>
      <main id="main" tabIndex={-1} key={page}>
        <Screen route={place} />
      </main>
      {isSearching ? <GoTo place={place} onClose={() => setSearching(false)} onGo={goTo} /> : null}
    </div>
  );
}

interface TopBarProps {
  readonly cluster: string;
  readonly user: string;
  readonly onSearch: () => void;
}

function TopBar({ cluster, user, onSearch }: TopBarProps) {
  const session = useSession();
  return (
    <>
      <a class="brand" href={formatRoute({ screen: "workspace", cluster: "root" })}>
        kcp
      </a>
      <Path cluster={cluster} />
      <button type="button" class="search" onClick={onSearch}>
        {"Go to… "}
        <kbd>/</kbd>
      </button>
      <ConnectionState cluster={cluster} />
      <span class="user" title="You">
        {user}
      </span>
      {session.configuration.authentication === "token" ? (
        <button type="button" class="plain" onClick={() => session.logOut()}>
          Log out
        </button>
      ) : null}
    </>
  );
}

/** A person looks on: between two attempts of a watch is up to a minute. */
const probeMs = 3000;

function ConnectionState({ cluster }: { readonly cluster: string }) {
  const session = useSession();
  const isLost = connection.value === "lost";
  useEffect(() => {
    if (!isLost) return;
    // Any answer wakes all watches of the client. Without one the next probe follows.
    const request = { method: "GET", path: "/version", retriesMax: 0 } as const;
    const probe = () =>
      void session
        .clientIn(cluster)
        .json(request)
        .catch(() => undefined);
    const timer = setInterval(probe, probeMs);
    return () => clearInterval(timer);
  }, [isLost, cluster]);
  const texts = {
    live: "Live",
    connecting: "Connecting…",
    lost: "Connection lost, trying again…",
  } as const;
  return (
    <span class={`connection ${connection.value}`} role="status">
      {texts[connection.value]}
    </span>
  );
}

/** Each part of the path leads to its workspace. */
function Path({ cluster }: { readonly cluster: string }) {
  const paths: string[] = [];
  for (let at: string | undefined = cluster; at !== undefined; at = parentOf(at)) paths.unshift(at);
  return (
    <nav class="path" aria-label="Path">
      {paths.map((path) => (
        <a key={path} href={formatRoute({ screen: "workspace", cluster: path })}>
          {path === "*" ? "all workspaces" : path.slice((parentOf(path)?.length ?? -1) + 1)}
        </a>
      ))}
    </nav>
  );
}
