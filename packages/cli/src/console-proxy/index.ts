/** The console on loopback, with the credentials of a kubeconfig. */
export { type ConsoleProxy, type ConsoleProxyOptions, startConsoleProxy } from "./console-proxy.ts";
export { openBrowser } from "./open-browser.ts";
