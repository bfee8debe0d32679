/** A command in a container of a Pod, in a terminal. */
import { type Pod, pods } from "@kcp-ts/sdk/kinds";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ErrorNotice, KubectlLine, Part, shellLine } from "../elements/index.ts";
import { accessTo, nameSelector, useLiveObjects } from "../live/index.ts";
import { formatRoute } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { CommandSession, Screen, TerminalView } from "../terminal/index.ts";
import { ActionButton } from "./action-button.tsx";
import type { ScreenProps } from "./console.tsx";

const scrollbackMax = 5000;

export function ShellScreen({ route: { cluster, namespace = "", name = "" } }: ScreenProps) {
  const client = useSession().clientIn(cluster);
  const live = useLiveObjects<Pod>(client, pods, { namespace, fieldSelector: nameSelector(name) });
  const pod = live?.objects[0];
  return (
    <>
      <header class="title">
        <h1>{`Shell in ${name}`}</h1>
        <a
          class="button"
          href={formatRoute({ screen: "object", cluster, resource: "pods", namespace, name })}
        >
          Pod
        </a>
      </header>
      {pod !== undefined ? (
        <Commands cluster={cluster} pod={pod} />
      ) : (
        <Part of={live} what="the Pod">
          <ErrorNotice error={new Error(`Pod ${name} does not exist, or no longer does.`)} />
        </Part>
      )}
    </>
  );
}

interface CommandsProps {
  readonly cluster: string;
  readonly pod: Pod;
}

interface Command {
  readonly container: string;
  readonly words: readonly string[];
  readonly run: number;
}

function Commands({ cluster, pod }: CommandsProps) {
  const client = useSession().clientIn(cluster);
  const { name, namespace = "" } = pod.metadata;
  const access = { ...accessTo(pods, "create", pod.metadata), subresource: "exec" };
  const containers = (pod.spec?.containers ?? []).map((one) => one.name);
  const [container, setContainer] = useState(containers[0] ?? "");
  const [words, setWords] = useState("sh");
  const [command, setCommand] = useState<Command | undefined>(undefined);
  const run = (event: Event) => {
    event.preventDefault();
    const parts = words.split(/\s+/).filter((word) => word !== "");
    setCommand({ container, words: parts, run: (command?.run ?? 0) + 1 });
  };
  const line = shellLine`kubectl ws :${cluster} && kubectl exec -it -n ${namespace} ${name} -c ${container} -- ${words.split(/\s+/)}`;
  return (
    <>
      <KubectlLine line={line} />
      <form class="filters" onSubmit={run}>
        <label>
          Container
          <select value={container} onChange={(event) => setContainer(event.currentTarget.value)}>
            {containers.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label>
          Command
          <input
            required
            value={words}
            spellcheck={false}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        </label>
        <ActionButton client={client} access={access} type="submit" class="primary">
          {command === undefined ? "Run" : "Run again"}
        </ActionButton>
      </form>
      {command === undefined ? null : (
        <Running key={command.run} cluster={cluster} pod={pod} command={command} />
      )}
    </>
  );
}

function Running({ cluster, pod, command }: CommandsProps & { readonly command: Command }) {
  const session = useSession();
  const screen = useMemo(() => new Screen({ scrollbackMax, isLog: false }), []);
  const running = useRef<CommandSession | undefined>(undefined);
  const [state, setState] = useState("Connecting…");
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const { name, namespace } = pod.metadata;
    const query = new URLSearchParams({ stdin: "true", stdout: "true", tty: "true" });
    query.set("container", command.container);
    for (const word of command.words) query.append("command", word);
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/exec?${query}`;
    const one = new CommandSession(session.openWebSocket(cluster, path, "v5.channel.k8s.io"), {
      onOpen: () => {
        setOpen(true);
        setState("Running. Shift-Tab leaves the terminal.");
        one.resize(screen.columns, screen.rows);
      },
      onOutput: (bytes) => {
        screen.write(bytes).catch(() => undefined);
      },
      onEnd: (message) => {
        setOpen(false);
        setState(message);
      },
    });
    running.current = one;
    const stop = screen.onAnswer((text) => one.send(text));
    return () => {
      stop();
      one.close();
      screen.close();
    };
  }, []);
  return (
    <>
      <p role="status">{state}</p>
      <TerminalView
        screen={screen}
        label={`${command.words.join(" ")} in ${pod.metadata.name}`}
        onInput={isOpen ? (text) => running.current?.send(text) : undefined}
        onResize={(columns, rows) => running.current?.resize(columns, rows)}
      />
    </>
  );
}
