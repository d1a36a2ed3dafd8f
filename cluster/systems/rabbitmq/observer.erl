%% Tells what this node of RabbitMQ knows of itself, a line of JSON for each line that comes in; asks no other node.
%%
%% state             version, whether it serves, whom it runs with, and of each queue: type, leader, term, members
%% settings KEY ...  the lines of the configuration files that the node started with, and the values of keys in effect
%% mirror            mirror every classic queue to all nodes
-module(chaos_observer).
-export([start/2, nothing/1]).

-define(PATIENCE_MS, 100).

start(Address, Port) ->
    spawn(fun() ->
        Options = [binary, {ip, Address}, {packet, line}, {active, false}, {reuseaddr, true}],
        {ok, Listener} = gen_tcp:listen(Port, Options),
        accept(Listener)
    end).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Server = spawn(fun() -> receive go -> serve(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Server),
    Server ! go,
    accept(Listener).

serve(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Line} ->
            Words = string:lexemes(string:trim(binary_to_list(Line)), " "),
            Said = try answer(Words) catch Class:Why -> #{error => text({Class, Why})} end,
            ok = gen_tcp:send(Socket, [rabbit_json:encode(Said), "\n"]),
            serve(Socket);
        {error, _} ->
            gen_tcp:close(Socket)
    end.

answer(["state"]) ->
    Serves = rabbit:is_running(),
    {ok, Version} = application:get_key(rabbit, vsn),
    #{version => list_to_binary(Version), node => node(), serves => Serves,
      running => case Serves of true -> rabbit_mnesia:cluster_nodes(running); false -> [] end,
      queues => case Serves of true -> [queue(Queue) || Queue <- rabbit_amqqueue:list()]; false -> [] end};
answer(["settings" | Keys]) ->
    Files = rabbit_config:config_files(),
    Lines = lists:append([lines(cuttlefish_conf:file(File)) || File <- Files]),
    #{lines => maps:from_list(Lines), ticktime => ticktime(net_kernel:get_net_ticktime()),
      values => maps:from_list([{list_to_binary(Key), value(list_to_atom(Key))} || Key <- Keys])};
answer(["mirror"]) ->
    Definition = [{<<"ha-mode">>, <<"all">>}, {<<"ha-sync-mode">>, <<"automatic">>}],
    #{set => text(rabbit_policy:set(<<"/">>, <<"mirrors">>, <<".*">>, Definition, 0, <<"queues">>, <<"chaos">>))}.

value(Key) ->
    case application:get_env(rabbit, Key) of {ok, Value} -> text(Value); undefined -> <<"unset">> end.

lines(Read) -> [{iolist_to_binary(lists:join(".", Name)), iolist_to_binary(Value)} || {Name, Value} <- Read].

ticktime({ongoing_change_to, Seconds}) -> Seconds;
ticktime(ignored) -> 0;
ticktime(Seconds) -> Seconds.

queue(Queue) ->
    {resource, _, queue, Name} = amqqueue:get_name(Queue),
    case amqqueue:get_type(Queue) of
        rabbit_quorum_queue ->
            {Raft, _} = amqqueue:get_pid(Queue),
            #{nodes := Members} = amqqueue:get_type_state(Queue),
            {Leader, Term} = lead(Raft),
            #{name => Name, type => quorum, leader => Leader, term => Term, members => Members};
        rabbit_classic_queue ->
            Pid = amqqueue:get_pid(Queue),
            Mirrors = [node(Mirror) || Mirror <- amqqueue:get_sync_slave_pids(Queue)],
            #{name => Name, type => classic, leader => node(Pid), term => 0, members => [node(Pid) | Mirrors]};
        Other ->
            #{name => Name, type => Other, leader => none, term => 0, members => []}
    end.

%% Whom this node's member of a Raft group knows as leader, and in which term: both of one moment.
lead(Raft) ->
    case catch ra:local_query({Raft, node()}, fun ?MODULE:nothing/1, ?PATIENCE_MS) of
        {ok, {{_, Term}, _}, {_, Leader}} -> {Leader, Term};
        _ -> {none, 0}
    end.

nothing(_) -> ok.

text(Value) -> list_to_binary(io_lib:format("~0p", [Value])).
