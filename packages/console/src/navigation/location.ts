/** The current place as a signal, and ways to another one. */
import { effect, type Signal, signal } from "@preact/signals";
import { formatRoute, parseRoute, type Route } from "./routes.ts";

/** Undefined at an address that means nothing. */
export const route: Signal<Route | undefined> = signal(undefined);

/** Follows the browser's history, and links of this page. */
export function followLocation(): void {
  const read = () => {
    route.value = parseRoute(location.pathname, location.search);
  };
  read();
  addEventListener("popstate", read);
  addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a[href]");
    if (!(link instanceof HTMLAnchorElement) || event.button !== 0 || event.defaultPrevented)
      return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (link.origin !== location.origin || !link.pathname.startsWith("/console/c/")) return;
    event.preventDefault();
    goTo(link.pathname + link.search);
  });
  // The browser's title is the name of the place.
  effect(() => {
    const { cluster, resource, name } = route.value ?? {};
    document.title = [name ?? resource, cluster, "kcp"].filter(Boolean).join(" · ");
  });
}

export function goTo(address: string): void {
  if (address === location.pathname + location.search) return;
  history.pushState(null, "", address);
  route.value = parseRoute(location.pathname, location.search);
}

/** Changes filters and tabs of the current place. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const now = route.value;
  if (now === undefined) return;
  const address = formatRoute({ ...now, query: { ...now.query, ...changes } });
  history.replaceState(null, "", address);
  route.value = parseRoute(location.pathname, location.search);
}
