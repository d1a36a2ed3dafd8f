// Runs a declarative Jenkinsfile without a Jenkins; gives what stands inside what, and what each of it was given.
class Recorder {
  private List<String> outer = []
  List<List<String>> seen = []

  void add(String name, value) { seen << [(outer + name).join('/'), value.toString()] }

  def methodMissing(String name, args) {
    add(name, args.find { !(it instanceof Closure) } ?: '')
    for (body in args.findAll { it instanceof Closure }) {
      outer += name
      body.delegate = this
      body.resolveStrategy = Closure.DELEGATE_ONLY
      body.call()
      outer = outer.dropRight(1)
    }
    name
  }

  def propertyMissing(String name) { name }
  def propertyMissing(String name, value) { add(name, value) }
}

def recorder = new Recorder()
def script = new GroovyShell().parse(jenkinsfile)
script.metaClass.methodMissing = { String name, args -> recorder.methodMissing(name, args) }
script.run()
recorder.seen
