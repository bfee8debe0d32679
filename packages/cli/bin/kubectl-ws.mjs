#!/usr/bin/env node
import { programs } from "./bundle.mjs";

await programs.workspaceMain(process.argv);
