#!/usr/bin/env node
import { programs } from "./bundle.mjs";

programs.completeWorkspace(process.argv);
