/** Where the user is, and how to get somewhere else. */
export { followLocation, goTo, route, setQuery } from "./location.ts";
export { formatRoute, parentOf, parseRoute, type Route, type Screen } from "./routes.ts";
export { useDialog } from "./use-dialog.ts";
