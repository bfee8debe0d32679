/** The console: a page that speaks the Kubernetes API with the user's own credentials. */
import { h, render } from "preact";
import { followLocation } from "./navigation/index.ts";
import { Console } from "./screens/index.ts";
import { Session, SessionContext } from "./session/index.ts";

export function startConsole(): void {
  const session = new Session();
  const element = document.getElementById("console");
  if (element === null) throw new Error("the document has no place for the console");
  const draw = () => {
    followLocation();
    render(h(SessionContext.Provider, { value: session }, h(Console, null)), element);
  };
  session.start().then(draw, draw);
}
