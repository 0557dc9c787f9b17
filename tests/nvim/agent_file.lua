-- A person writes an agent file in Neovim with no plugin: what they see, as JSON in the file $RESULT.
local seen = {}
local python, root, file = os.getenv("PYTHON"), os.getenv("ROOT"), os.getenv("FILE")

local function wait(what, condition)
  assert(vim.wait(60000, condition, 20), "waited in vain for " .. what)
end

local function main()
  vim.cmd("edit " .. vim.fn.fnameescape(file))
  local id = vim.lsp.start_client({ name = "ensign", cmd = { python, "-m", "ensign", "serve", "--stdio" }, root_dir = root })
  vim.lsp.buf_attach_client(0, id)
  local client = vim.lsp.get_client_by_id(id)
  wait("the server", function() return client.server_capabilities ~= nil and client.initialized end)

  -- Typed, not saved.
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { "---", "name: writer", "description: d", "tools: Raed", "color: ", "---", "Role." })
  wait("diagnostics", function() return #vim.diagnostic.get(0) == 2 end)
  seen.faults = vim.tbl_map(function(one) return { one.lnum, one.col, one.code } end, vim.diagnostic.get(0))
  table.sort(seen.faults, function(one, other) return one[1] < other[1] end)

  local function ask(method, line, character, more)
    local params = vim.tbl_extend("force", {
      textDocument = vim.lsp.util.make_text_document_params(0),
      position = { line = line, character = character },
    }, more or {})
    local answer = assert(client.request_sync(method, params, 30000, 0))
    assert(answer.err == nil, vim.inspect(answer.err))
    return answer.result
  end
  seen.colors = vim.tbl_map(function(item) return item.label end, ask("textDocument/completion", 4, 7))
  seen.hover = ask("textDocument/hover", 3, 2).contents.value

  -- The fix, applied as Neovim applies it.
  local range = { start = { line = 3, character = 7 }, ["end"] = { line = 3, character = 11 } }
  local actions = ask("textDocument/codeAction", 3, 7, { range = range, context = { diagnostics = vim.empty_dict(), only = { "quickfix" } } })
  seen.fixes = vim.tbl_map(function(action) return action.title end, actions)
  vim.lsp.util.apply_workspace_edit(actions[1].edit, client.offset_encoding)
  vim.lsp.util.apply_workspace_edit(ask("textDocument/rename", 1, 7, { newName = "author" }), client.offset_encoding)
  seen.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
  wait("fewer diagnostics", function() return #vim.diagnostic.get(0) == 1 end)
  vim.lsp.stop_client(id)
  wait("the end", function() return client.is_stopped() end)
end

local ok, problem = xpcall(main, debug.traceback)
if not ok then seen.problem = problem end
vim.fn.writefile({ vim.json.encode(seen) }, os.getenv("RESULT"))
vim.cmd("qall!")
