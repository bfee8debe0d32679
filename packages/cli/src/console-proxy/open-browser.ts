import { spawn } from "node:child_process";

/** Asks the desktop to open an address; the address is printed anyway, so a failure is no error. */
export function openBrowser(url: string): void {
  const [program, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler", url]
        : ["xdg-open", url];
  const child = spawn(program as string, args, { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
